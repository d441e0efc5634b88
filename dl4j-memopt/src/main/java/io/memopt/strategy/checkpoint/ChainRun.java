// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.allocator.event.Phase;
import io.memopt.strategy.NormalizationResidue;
import io.memopt.strategy.offload.OutputStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.jspecify.annotations.Nullable;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * One checkpointed forward and backward pass of a MultiLayerNetwork. The chain are the layers before the output layer; the backward
 * pass ends above the topmost frozen layer, as Deeplearning4j's does, and what lies below is not computed again.
 *
 * <p>Threading: confined to the training thread.
 */
final class ChainRun implements SegmentRun {
    private final MultiLayerNetwork network;
    private final PassVisits visits;
    private final Segments segments;
    private final PassAccess access;
    private final Layer[] layers;
    private final int last;
    private final int lowest;
    private final LayerWorkspaceMgr inner;
    private final KeptOutputs kept;
    private final LayerWorkspaceMgr discarded;
    private final RandomState[] randomStates;
    private final Map<String, Pair<INDArray, Character>> gradients = new LinkedHashMap<>();
    private final @Nullable ChainMeter meter;
    private @Nullable INDArray error;
    private @Nullable MemoryWorkspace errorScope;
    private double score;

    ChainRun(
            MultiLayerNetwork network,
            PassVisits visits,
            Segments segments,
            @Nullable OutputStore store,
            boolean measures) {
        this.network = network;
        this.visits = visits;
        this.segments = segments;
        this.access = new PassAccess(network, List.of(network.getInput()));
        this.layers = network.getLayers();
        this.last = layers.length - 1;
        this.lowest = lowestTrained(layers);
        this.inner = access.inner();
        this.kept = new KeptOutputs(access, store);
        this.discarded = access.discarded();
        this.randomStates = new RandomState[segments.count()];
        this.meter = measures ? new ChainMeter(layers) : null;
    }

    /** The chain of {@code network} in segments of about equal length. */
    static Segments even(MultiLayerNetwork network) {
        Layer[] layers = network.getLayers();
        return Segments.even(layers.length - 1, index -> LayerRules.cuttable(layers, index));
    }

    private static int lowestTrained(Layer[] layers) {
        int lowest = layers.length - 1;
        while (lowest > 0 && !(layers[lowest - 1] instanceof FrozenLayer)) {
            lowest--;
        }
        return lowest;
    }

    @Override
    public @Nullable Chain compute() {
        access.synchronizeCounts();
        if (network.getFlattenedGradients() == null) {
            network.initGradientsView();
        }
        network.setInput(network.getInput());
        network.setLayerMaskArrays(network.getMaskArray(), null);
        MemoryWorkspace before = Nd4j.getMemoryManager().getCurrentWorkspace();
        try (MemoryWorkspace all = access.kept().notifyScopeEntered(ArrayType.ACTIVATIONS)) {
            kept.begin(segments.stages(this::uses));
            try {
                forward();
                backward(all);
            } finally {
                closeErrors(all);
                kept.end();
            }
            publish();
            tellBackward();
        } finally {
            Nd4j.getMemoryManager().setCurrentWorkspace(before);
        }
        network.getOutputLayer().clearNoiseWeightParams();
        return meter == null ? null : meter.chain();
    }

    /** Each segment but the first begins with the output of the one before. */
    private Set<Integer> uses(int segment) {
        return segment == 0 ? Set.of() : Set.of(segments.start(segment) - 1);
    }

    private INDArray input(int segment) {
        return segment == 0
                ? network.getInput()
                : Objects.requireNonNull(kept.get(segments.start(segment) - 1), "kept output");
    }

    /** All segments but the last, of which only the outputs stay. */
    private void forward() {
        for (int i = 0; i < segments.count() - 1; i++) {
            randomStates[i] = RandomState.now();
            try (MemoryWorkspace segment = inner.notifyScopeEntered(ArrayType.INPUT)) {
                kept.stage(i);
                int end = segments.end(i);
                kept.keep(end - 1, forward(segments.start(i), end, input(i), kept.manager()));
                forget(segments.start(i), segments.end(i));
            }
        }
    }

    /** {@code to}: where the output of the last layer goes. */
    private INDArray forward(int start, int end, INDArray input, LayerWorkspaceMgr to) {
        INDArray at = input;
        for (int i = start; i < end; i++) {
            at = activate(i, at, i == end - 1 ? to : inner);
        }
        return at;
    }

    private INDArray activate(int index, INDArray given, LayerWorkspaceMgr to) {
        long begun = System.nanoTime();
        try (MemoryWorkspace working = inner.notifyScopeEntered(ArrayType.FF_WORKING_MEM)) {
            INDArray input = preprocessed(index, given);
            INDArray output = layers[index].activate(input, true, to);
            if (meter != null && to != discarded && meter.expects(index)) {
                meter.add(given, input, output, System.nanoTime() - begun);
            }
            return output;
        }
    }

    private INDArray preprocessed(int index, INDArray input) {
        InputPreProcessor preprocessor = network.getLayerWiseConfigurations().getInputPreProcess(index);
        return preprocessor == null ? input : preprocessor.preProcess(input, network.getInputMiniBatchSize(), inner);
    }

    /** What layers would reuse in their backward pass lies in a workspace that is about to be closed, or is to be drawn again. */
    private void forget(int start, int end) {
        Layer[] those = Arrays.copyOfRange(layers, start, end);
        for (Layer layer : those) {
            layer.clearNoiseWeightParams();
        }
        NormalizationResidue.of(those).forEach(NormalizationResidue::drop);
    }

    private void backward(MemoryWorkspace all) {
        for (int i = segments.count() - 1; i >= 0; i--) {
            boolean top = i == segments.count() - 1;
            if (!top && segments.end(i) <= lowest) {
                return;
            }
            try (MemoryWorkspace segment = inner.notifyScopeEntered(ArrayType.INPUT)) {
                kept.stage(segments.backwardStage(i));
                if (top) {
                    INDArray output = forward(segments.start(i), segments.end(i), input(i), inner);
                    tellForward();
                    enterOutputLayer(output);
                } else {
                    again(i);
                }
                for (int layer = top ? last : segments.end(i) - 1;
                        layer >= Math.max(lowest, segments.start(i));
                        layer--) {
                    backward(layer, all);
                }
                if (top) {
                    score();
                }
            }
        }
    }

    private void enterOutputLayer(INDArray output) {
        INDArray input = preprocessed(last, output);
        network.getOutputLayer().setInput(input, inner);
        ((IOutputLayer) network.getOutputLayer()).setLabels(network.getLabels());
    }

    /** Computes a segment again from the random numbers that it drew. */
    private void again(int segment) {
        int start = segments.start(segment);
        int end = segments.end(segment);
        visits.goesOn(Phase.FORWARD, start);
        RandomState now = RandomState.now();
        randomStates[segment].restore();
        INDArray input = forward(start, end - 1, input(segment), inner);
        if (LayerRules.reruns(layers[end - 1])) {
            activate(end - 1, input, discarded);
        } else {
            enter(end - 1, input);
        }
        now.restore();
        visits.goesOn(Phase.BACKWARD, last - end + 1);
    }

    /** The layer's backward pass needs its input alone. */
    private void enter(int index, INDArray given) {
        try (MemoryWorkspace working = inner.notifyScopeEntered(ArrayType.FF_WORKING_MEM)) {
            layers[index].setInput(preprocessed(index, given), inner);
        }
    }

    private void backward(int index, MemoryWorkspace all) {
        // Deeplearning4j puts gradients of activations into two workspaces in turn.
        LayerWorkspaceMgr manager = access.backward(index % 2 == 0 ? "WS_LAYER_ACT_1" : "WS_LAYER_ACT_2");
        MemoryWorkspace scope = manager.notifyScopeEntered(ArrayType.ACTIVATION_GRAD);
        MemoryWorkspace before = errorScope;
        try (MemoryWorkspace working = manager.notifyScopeEntered(ArrayType.BP_WORKING_MEM)) {
            scope.setPreviousWorkspace(all);
            working.setPreviousWorkspace(all);
            Pair<Gradient, INDArray> result = layers[index].backpropGradient(error, manager);
            collect(index, result.getFirst());
            error = index == 0 ? null : throughPreprocessor(index, result.getSecond(), manager);
            errorScope = scope;
            if (before != null) {
                before.close();
            }
        } catch (RuntimeException | Error e) {
            if (errorScope != scope) {
                scope.close();
            }
            throw e;
        }
    }

    private @Nullable INDArray throughPreprocessor(int index, @Nullable INDArray gradient, LayerWorkspaceMgr manager) {
        InputPreProcessor preprocessor = network.getLayerWiseConfigurations().getInputPreProcess(index);
        return preprocessor == null || gradient == null
                ? gradient
                : preprocessor.backprop(gradient, network.getInputMiniBatchSize(), manager);
    }

    private void collect(int index, Gradient gradient) {
        gradient.gradientForVariable()
                .forEach((name, array) -> gradients.put(
                        index + "_" + name, new Pair<>(array, gradient.flatteningOrderForVariable(name))));
    }

    private void score() {
        try (MemoryWorkspace working = inner.notifyScopeEntered(ArrayType.FF_WORKING_MEM)) {
            score = ((IOutputLayer) network.getOutputLayer())
                    .computeScore(network.calcRegularizationScore(true), true, inner);
        }
    }

    private void closeErrors(MemoryWorkspace all) {
        MemoryWorkspace open = errorScope;
        errorScope = null;
        if (open != null) {
            open.close();
        }
        Nd4j.getMemoryManager().setCurrentWorkspace(all);
    }

    private void publish() {
        Gradient gradient = new DefaultGradient(Objects.requireNonNull(network.getFlattenedGradients(), "gradients"));
        gradients.forEach((name, array) -> gradient.setGradientFor(name, array.getFirst(), array.getSecond()));
        network.setGradient(gradient);
        network.setScore(score);
    }

    private void tellForward() {
        for (TrainingListener listener : listeners()) {
            listener.onForwardPass(network, new ArrayList<>());
        }
    }

    private void tellBackward() {
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            for (TrainingListener listener : listeners()) {
                listener.onBackwardPass(network);
            }
        }
    }

    private List<TrainingListener> listeners() {
        return List.copyOf(network.getListeners());
    }
}
