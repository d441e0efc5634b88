// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.BitSet;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Plans of one stream's graphs, each made when it is first asked for. Holds as many as are asked for: with ways that are chosen that is
 * one or two for each pass of each shape. Threading: one thread at a time.
 */
final class BackendPlans implements AutoCloseable {
    private final BackendLibrary library;
    private final CudnnStream stream;
    private final boolean deterministic;
    /** Engines that are allowed in no graph of a pass, as far as that is known. */
    private final Map<ConvolutionPass, BitSet> unfit;

    private final Map<Work, Optional<BackendGraph>> graphs = new HashMap<>();
    private final Map<Way, Optional<BackendPlan>> plans = new HashMap<>();

    /** @param shape with the batch that is computed at once */
    record Work(ConvolutionShape shape, ConvolutionPass pass, boolean adds) {}

    private record Way(Work work, ConvolutionMath math, int id) {}

    private BackendPlans(
            BackendLibrary library, CudnnStream stream, boolean deterministic, Map<ConvolutionPass, BitSet> unfit) {
        this.library = library;
        this.stream = stream;
        this.deterministic = deterministic;
        this.unfit = unfit;
    }

    /** None yet; null where the presets lack the functions. */
    static @Nullable BackendPlans on(CudnnStream stream, boolean deterministic) {
        BackendLibrary library = BackendLibrary.instance();
        return library == null
                ? null
                : new BackendPlans(library, stream, deterministic, new EnumMap<>(ConvolutionPass.class));
    }

    /** Others for the same stream. */
    BackendPlans fresh() {
        return new BackendPlans(library, stream, deterministic, unfit);
    }

    /** Numbers of ways of {@code work}, see {@link BackendGraph#candidates}. */
    List<Integer> candidates(Work work, ConvolutionMath math) {
        BackendGraph graph = graph(work);
        return graph == null ? List.of() : graph.candidates(math);
    }

    /**
     * The plan of the way of {@code whole} with that number, for {@code part} of it by the same engine; null when there is none or it
     * cannot be carried out.
     */
    @Nullable
    BackendPlan plan(Work whole, Work part, ConvolutionMath math, int id) {
        if (part.equals(whole)) {
            return plan(whole, math, id);
        }
        BackendGraph graph = graph(whole);
        int suited = graph == null ? -1 : graph.suited(id);
        return suited < 0 ? null : plan(part, math, suited);
    }

    private @Nullable BackendPlan plan(Work work, ConvolutionMath math, int id) {
        return plans.computeIfAbsent(new Way(work, math, id), way -> Optional.ofNullable(make(way)))
                .orElse(null);
    }

    private @Nullable BackendPlan make(Way way) {
        BackendGraph graph = graph(way.work());
        BackendDescriptor configuration = graph == null ? null : graph.configuration(way.id(), way.math());
        return configuration == null ? null : BackendPlan.of(library, stream, configuration);
    }

    private @Nullable BackendGraph graph(Work work) {
        return graphs.computeIfAbsent(work, fresh -> Optional.ofNullable(describe(fresh)))
                .orElse(null);
    }

    private @Nullable BackendGraph describe(Work work) {
        try {
            BitSet known = unfit.computeIfAbsent(work.pass(), fresh -> new BitSet());
            return new BackendGraph(library, stream, work.shape(), work.pass(), work.adds(), deterministic, known);
        } catch (LayerEngineException e) {
            return null;
        }
    }

    @Override
    public void close() {
        plans.values().forEach(plan -> plan.ifPresent(BackendPlan::close));
        plans.clear();
        graphs.values().forEach(graph -> graph.ifPresent(BackendGraph::close));
        graphs.clear();
    }
}
