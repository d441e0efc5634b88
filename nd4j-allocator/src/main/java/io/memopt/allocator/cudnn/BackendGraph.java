// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static io.memopt.allocator.cudnn.BackendAttribute.BWD_DATA_ALPHA;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_DATA_BETA;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_DATA_CONV_DESC;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_DATA_DX;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_DATA_DY;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_DATA_W;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_FILTER_ALPHA;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_FILTER_BETA;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_FILTER_CONV_DESC;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_FILTER_DW;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_FILTER_DY;
import static io.memopt.allocator.cudnn.BackendAttribute.BWD_FILTER_X;
import static io.memopt.allocator.cudnn.BackendAttribute.CONVOLUTION_COMP_TYPE;
import static io.memopt.allocator.cudnn.BackendAttribute.CONVOLUTION_CONV_MODE;
import static io.memopt.allocator.cudnn.BackendAttribute.CONVOLUTION_DILATIONS;
import static io.memopt.allocator.cudnn.BackendAttribute.CONVOLUTION_FILTER_STRIDES;
import static io.memopt.allocator.cudnn.BackendAttribute.CONVOLUTION_POST_PADDINGS;
import static io.memopt.allocator.cudnn.BackendAttribute.CONVOLUTION_PRE_PADDINGS;
import static io.memopt.allocator.cudnn.BackendAttribute.CONVOLUTION_SPATIAL_DIMS;
import static io.memopt.allocator.cudnn.BackendAttribute.ENGINECFG_ENGINE;
import static io.memopt.allocator.cudnn.BackendAttribute.ENGINEHEUR_MODE;
import static io.memopt.allocator.cudnn.BackendAttribute.ENGINEHEUR_OPERATION_GRAPH;
import static io.memopt.allocator.cudnn.BackendAttribute.ENGINEHEUR_RESULTS;
import static io.memopt.allocator.cudnn.BackendAttribute.ENGINE_BEHAVIOR_NOTE;
import static io.memopt.allocator.cudnn.BackendAttribute.ENGINE_GLOBAL_INDEX;
import static io.memopt.allocator.cudnn.BackendAttribute.ENGINE_NUMERICAL_NOTE;
import static io.memopt.allocator.cudnn.BackendAttribute.ENGINE_OPERATION_GRAPH;
import static io.memopt.allocator.cudnn.BackendAttribute.FORWARD_ALPHA;
import static io.memopt.allocator.cudnn.BackendAttribute.FORWARD_BETA;
import static io.memopt.allocator.cudnn.BackendAttribute.FORWARD_CONV_DESC;
import static io.memopt.allocator.cudnn.BackendAttribute.FORWARD_W;
import static io.memopt.allocator.cudnn.BackendAttribute.FORWARD_X;
import static io.memopt.allocator.cudnn.BackendAttribute.FORWARD_Y;
import static io.memopt.allocator.cudnn.BackendAttribute.OPERATIONGRAPH_ENGINE_GLOBAL_COUNT;
import static io.memopt.allocator.cudnn.BackendAttribute.OPERATIONGRAPH_HANDLE;
import static io.memopt.allocator.cudnn.BackendAttribute.OPERATIONGRAPH_OPS;
import static io.memopt.allocator.cudnn.BackendAttribute.TENSOR_BYTE_ALIGNMENT;
import static io.memopt.allocator.cudnn.BackendAttribute.TENSOR_DATA_TYPE;
import static io.memopt.allocator.cudnn.BackendAttribute.TENSOR_DIMENSIONS;
import static io.memopt.allocator.cudnn.BackendAttribute.TENSOR_STRIDES;
import static io.memopt.allocator.cudnn.BackendAttribute.TENSOR_UNIQUE_ID;

import io.memopt.allocator.cudnn.BackendDescriptor.Kind;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One pass of one convolution as a graph of one operation, in FLOAT and NCHW, and the engines that can do it: first those that
 * cuDNN's heuristic proposes, the best first, then all others as they come. Inputs and outputs begin at multiples of {@value #ALIGNMENT}
 * bytes, weights anywhere: in a network's flat parameters they follow biases.
 *
 * <p>Threading: one thread at a time.
 */
final class BackendGraph implements AutoCloseable {
    static final int ALIGNMENT = 16;
    /** Names of the arrays in the graph. */
    static final long X = 1;

    static final long W = 2;
    static final long Y = 3;

    private static final int TYPE_DATA = 1;
    private static final int TYPE_CONVOLUTION_MODE = 7;
    private static final int TYPE_HEURISTIC = 8;
    private static final int TYPE_NUMERICAL_NOTE = 11;
    private static final int TYPE_BEHAVIOR_NOTE = 19;

    private static final int DATA_FLOAT = 0;
    private static final int CROSS_CORRELATION = 1;

    /** Of {@code cudnnBackendHeurMode_t}. */
    private static final int HEURISTIC_A = 3;

    private static final int MOST_PROPOSALS = 24;
    private static final int MOST_ALLOWED = 8;
    private static final int MOST_NOTES = 32;

    private static final int TENSOR_CORE = 0;
    private static final int DOWN_CONVERT_INPUTS = 1;
    private static final int REDUCED_PRECISION_REDUCTION = 2;
    private static final int NONDETERMINISTIC = 4;
    /** Of the engine that can do everything, twenty times as slow as others. */
    private static final int STRICT_NAN_PROPAGATION = 9;

    private static final int RUNTIME_COMPILATION = 0;

    private final BackendLibrary library;
    private final Deque<BackendDescriptor> opened = new ArrayDeque<>();
    private final BackendDescriptor graph;
    private final BitSet unfit;
    private final boolean deterministic;
    private @Nullable List<Proposal> proposals;

    /** What cuDNN's heuristic proposes, and the number of its engine. */
    private record Proposal(BackendDescriptor configuration, int engine) {}

    /**
     * Describes the pass.
     *
     * @param shape its batch is that of the computation
     * @param adds whether results are added to what is there
     * @param deterministic only engines that repeat bit for bit are allowed
     * @param unfit engines that are known to be allowed in no graph of this pass, added to
     */
    BackendGraph(
            BackendLibrary library,
            CudnnStream stream,
            ConvolutionShape shape,
            ConvolutionPass pass,
            boolean adds,
            boolean deterministic,
            BitSet unfit) {
        this.library = library;
        this.unfit = unfit;
        this.deterministic = deterministic;
        try {
            this.graph = open(Kind.GRAPH).handle(OPERATIONGRAPH_HANDLE, stream.handle);
            graph.descriptor(OPERATIONGRAPH_OPS, operation(shape, pass, adds)).finish();
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    private BackendDescriptor operation(ConvolutionShape shape, ConvolutionPass pass, boolean adds) {
        BackendDescriptor x = tensor(X, ALIGNMENT, shape.batch(), shape.channels(), shape.height(), shape.width());
        BackendDescriptor w = tensor(
                W,
                Float.BYTES,
                shape.filters(),
                shape.channels() / shape.groups(),
                shape.kernelHeight(),
                shape.kernelWidth());
        BackendDescriptor y = tensor(Y, ALIGNMENT, shape.batch(), shape.filters(), shape.outHeight(), shape.outWidth());
        BackendDescriptor way = convolution(shape);
        float beta = adds ? 1 : 0;
        BackendDescriptor operation = switch (pass) {
            case FORWARD ->
                open(Kind.FORWARD)
                        .real(FORWARD_ALPHA, 1)
                        .real(FORWARD_BETA, beta)
                        .descriptor(FORWARD_CONV_DESC, way)
                        .descriptor(FORWARD_W, w)
                        .descriptor(FORWARD_X, x)
                        .descriptor(FORWARD_Y, y);
            case BACKWARD_DATA ->
                open(Kind.BACKWARD_DATA)
                        .real(BWD_DATA_ALPHA, 1)
                        .real(BWD_DATA_BETA, beta)
                        .descriptor(BWD_DATA_CONV_DESC, way)
                        .descriptor(BWD_DATA_W, w)
                        .descriptor(BWD_DATA_DX, x)
                        .descriptor(BWD_DATA_DY, y);
            case BACKWARD_FILTER ->
                open(Kind.BACKWARD_FILTER)
                        .real(BWD_FILTER_ALPHA, 1)
                        .real(BWD_FILTER_BETA, beta)
                        .descriptor(BWD_FILTER_CONV_DESC, way)
                        .descriptor(BWD_FILTER_DW, w)
                        .descriptor(BWD_FILTER_X, x)
                        .descriptor(BWD_FILTER_DY, y);
        };
        return operation.finish();
    }

    private BackendDescriptor tensor(long name, long alignment, long first, long second, long third, long fourth) {
        return open(Kind.TENSOR)
                .longs(TENSOR_BYTE_ALIGNMENT, alignment)
                .number(TENSOR_DATA_TYPE, TYPE_DATA, DATA_FLOAT)
                .longs(TENSOR_DIMENSIONS, first, second, third, fourth)
                .longs(TENSOR_STRIDES, second * third * fourth, third * fourth, fourth, 1)
                .longs(TENSOR_UNIQUE_ID, name)
                .finish();
    }

    private BackendDescriptor convolution(ConvolutionShape shape) {
        return open(Kind.CONVOLUTION)
                .number(CONVOLUTION_COMP_TYPE, TYPE_DATA, DATA_FLOAT)
                .number(CONVOLUTION_CONV_MODE, TYPE_CONVOLUTION_MODE, CROSS_CORRELATION)
                .longs(CONVOLUTION_DILATIONS, shape.dilationHeight(), shape.dilationWidth())
                .longs(CONVOLUTION_FILTER_STRIDES, shape.strideHeight(), shape.strideWidth())
                .longs(CONVOLUTION_POST_PADDINGS, shape.padHeight(), shape.padWidth())
                .longs(CONVOLUTION_PRE_PADDINGS, shape.padHeight(), shape.padWidth())
                .longs(CONVOLUTION_SPATIAL_DIMS, 2)
                .finish();
    }

    private BackendDescriptor open(Kind kind) {
        BackendDescriptor descriptor = new BackendDescriptor(library, kind);
        opened.push(descriptor);
        return descriptor;
    }

    /**
     * Numbers of the configurations that may be taken: {@link ConvolutionPass#FIRST_PROPOSAL} and on for those that cuDNN's heuristic
     * proposes, the best first, then {@link ConvolutionPass#FIRST_ENGINE} and on for all other engines as they come. Not the latter
     * with tensor cores: there the heuristic knows best, and engines are many.
     *
     * @param math FMA: those without tensor cores; TF32: those with them
     */
    List<Integer> candidates(ConvolutionMath math) {
        List<Integer> ids = new ArrayList<>();
        Set<Integer> seen = new HashSet<>();
        for (int i = 0; i < proposals().size(); i++) {
            Proposal proposal = proposals().get(i);
            seen.add(proposal.engine());
            if (ids.size() < MOST_ALLOWED && isAllowed(proposal, math)) {
                ids.add(ConvolutionPass.FIRST_PROPOSAL + i);
            }
        }
        long engines = math == ConvolutionMath.FMA ? graph.getLong(OPERATIONGRAPH_ENGINE_GLOBAL_COUNT) : 0;
        for (int index = 0; index < engines; index++) {
            if (!seen.contains(index) && !unfit.get(index) && engine(index, math) != null) {
                ids.add(ConvolutionPass.FIRST_ENGINE + index);
            }
        }
        return ids;
    }

    /** The number under which {@link #configuration} of another graph gives the engine of this one's {@code id}; -1 when there is none. */
    int suited(int id) {
        if (id >= ConvolutionPass.FIRST_ENGINE) {
            return ConvolutionPass.FIRST_SUITED + id - ConvolutionPass.FIRST_ENGINE;
        }
        int index = id - ConvolutionPass.FIRST_PROPOSAL;
        return index < proposals().size()
                ? ConvolutionPass.FIRST_SUITED + proposals().get(index).engine()
                : -1;
    }

    /** That of {@link #candidates} or {@link #suited} with this number; it lives as long as this. Null when there is none. */
    @Nullable
    BackendDescriptor configuration(int id, ConvolutionMath math) {
        if (id >= ConvolutionPass.FIRST_SUITED) {
            return suited(id - ConvolutionPass.FIRST_SUITED, math);
        }
        if (id >= ConvolutionPass.FIRST_ENGINE) {
            return engine(id - ConvolutionPass.FIRST_ENGINE, math);
        }
        int index = id - ConvolutionPass.FIRST_PROPOSAL;
        if (index >= proposals().size()) {
            return null;
        }
        Proposal proposal = proposals().get(index);
        return isAllowed(proposal, math) ? proposal.configuration() : null;
    }

    private @Nullable BackendDescriptor suited(int engine, ConvolutionMath math) {
        for (Proposal proposal : proposals()) {
            if (proposal.engine() == engine && isAllowed(proposal, math)) {
                return proposal.configuration();
            }
        }
        return engine(engine, math);
    }

    private List<Proposal> proposals() {
        List<Proposal> known = proposals;
        if (known == null) {
            List<BackendDescriptor> configurations = propose();
            configurations.forEach(opened::push);
            known = configurations.stream().map(BackendGraph::proposal).toList();
            proposals = known;
        }
        return known;
    }

    private static Proposal proposal(BackendDescriptor configuration) {
        try (BackendDescriptor engine = configuration.getDescriptor(ENGINECFG_ENGINE, Kind.ENGINE)) {
            return new Proposal(configuration, Math.toIntExact(engine.getLong(ENGINE_GLOBAL_INDEX)));
        }
    }

    private List<BackendDescriptor> propose() {
        try {
            return open(Kind.HEURISTICS)
                    .descriptor(ENGINEHEUR_OPERATION_GRAPH, graph)
                    .number(ENGINEHEUR_MODE, TYPE_HEURISTIC, HEURISTIC_A)
                    .finish()
                    .getDescriptors(ENGINEHEUR_RESULTS, Kind.ENGINE_CONFIGURATION, MOST_PROPOSALS);
        } catch (LayerEngineException e) {
            return List.of();
        }
    }

    private boolean isAllowed(Proposal proposal, ConvolutionMath math) {
        try (BackendDescriptor engine = proposal.configuration().getDescriptor(ENGINECFG_ENGINE, Kind.ENGINE)) {
            return isAllowed(engine, math);
        }
    }

    private @Nullable BackendDescriptor engine(int index, ConvolutionMath math) {
        try (BackendDescriptor engine = new BackendDescriptor(library, Kind.ENGINE)) {
            engine.descriptor(ENGINE_OPERATION_GRAPH, graph)
                    .longs(ENGINE_GLOBAL_INDEX, index)
                    .finish();
            if (isAllowed(engine, math)) {
                return open(Kind.ENGINE_CONFIGURATION)
                        .descriptor(ENGINECFG_ENGINE, engine)
                        .finish();
            }
            if (!isAllowed(engine, ConvolutionMath.FMA) && !isAllowed(engine, ConvolutionMath.TF32)) {
                unfit.set(index);
            }
        } catch (LayerEngineException e) {
            return null;
        }
        return null;
    }

    private boolean isAllowed(BackendDescriptor engine, ConvolutionMath math) {
        List<Integer> numerical = engine.getNumbers(ENGINE_NUMERICAL_NOTE, TYPE_NUMERICAL_NOTE, MOST_NOTES);
        boolean rounds = numerical.contains(TENSOR_CORE) || numerical.contains(DOWN_CONVERT_INPUTS);
        return rounds == (math == ConvolutionMath.TF32)
                && !numerical.contains(REDUCED_PRECISION_REDUCTION)
                && !numerical.contains(STRICT_NAN_PROPAGATION)
                && !(deterministic && numerical.contains(NONDETERMINISTIC))
                && !engine.getNumbers(ENGINE_BEHAVIOR_NOTE, TYPE_BEHAVIOR_NOTE, MOST_NOTES)
                        .contains(RUNTIME_COMPILATION);
    }

    @Override
    public void close() {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
