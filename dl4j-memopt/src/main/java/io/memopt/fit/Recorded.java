// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.fit.MemoryForecast.Method;
import io.memopt.listeners.training.Trackers;
import io.memopt.listeners.training.TrainingTracker;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.rng.Random;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Forecasts from iterations of a copy of a network. The network is only read, and the state of ND4J's random generator is as
 * before; nothing else may draw from it meanwhile, so do not train at the same time. Takes nine iterations and six calls of
 * {@code output()} with at most five items, and once the memory of the network's parameters, gradients and updater state.
 *
 * <p>Threading: from any thread, one at a time.
 */
public final class Recorded {
    /** A batch of one is a case of its own: some layers drop the dimension. */
    private static final int LOW = 2;

    private static final int HIGH = 3;
    private static final int CHECK = 5;

    private final Model network;
    private final TrainingTracker tracker;

    private Recorded(Model network, TrainingTracker tracker) {
        this.network = network;
        this.tracker = tracker;
    }

    /**
     * For input of the given types, one for each input of the network, and labels shaped as its outputs.
     *
     * @throws IllegalArgumentException if the network is not initialised, or cannot be trained with such data
     */
    public static MemoryForecast forecast(Model network, InputType... inputs) {
        Objects.requireNonNull(inputs, "inputs");
        if (inputs.length == 0) {
            throw new IllegalArgumentException("inputs=[], expected the type of each input of the network");
        }
        List<ItemShape> features = Arrays.stream(inputs)
                .map(input -> ItemShape.of(input, TrialNetwork.typeOf(checked(network))))
                .toList();
        return forecast(network, BatchShape.ofFeatures(features));
    }

    /**
     * For data shaped as {@code example}, masks included; only its shapes and types are read.
     *
     * @throws IllegalArgumentException as above
     */
    public static MemoryForecast forecast(Model network, MultiDataSet example) {
        return forecast(checked(network), BatchShape.of(example));
    }

    /**
     * For inputs shaped as {@code features}, of which only shapes and types are read, and labels shaped as the outputs.
     *
     * @throws IllegalArgumentException as above
     */
    public static MemoryForecast forecast(Model network, INDArray... features) {
        return forecast(
                checked(network),
                BatchShape.ofFeatures(Arrays.stream(features).map(ItemShape::of).toList()));
    }

    private static synchronized MemoryForecast forecast(Model network, BatchShape shape) {
        boolean alreadyInstalled = MemoryHooks.installed();
        Random random = Nd4j.getRandom();
        long rootState = random.rootState();
        long nodeState = random.nodeState();
        TrainingTracker tracker = Trackers.current();
        try {
            return new Recorded(network, tracker).forecast(shape);
        } finally {
            random.setStates(rootState, nodeState);
            if (!alreadyInstalled && tracker.isIdle()) {
                tracker.close();
                MemoryHooks.uninstall();
            }
        }
    }

    private MemoryForecast forecast(BatchShape given) {
        Trial trial = new Trial(network, tracker);
        BatchShape shape = given.labels().isEmpty()
                ? given.withLabels(trial.infer(given, LOW).outputs())
                : given;
        // First, because ND4J makes some constants once in the life of a process.
        StraightLines.Point check = new StraightLines.Point(CHECK, trial.train(shape, CHECK));
        StraightLines.Point low = new StraightLines.Point(LOW, trial.train(shape, LOW));
        StraightLines.Point high = new StraightLines.Point(HIGH, trial.train(shape, HIGH));
        OwnerTable owners = tracker.recording().ledger().owners();
        Passes training = StraightLines.through(low, high, owners)
                .orElseThrow(() -> new IllegalArgumentException(
                        "The network does other things with a batch of " + LOW + " than with one of " + HIGH
                                + ", so nothing can be said of larger ones. Train with the batch in question and look at"
                                + " MemOpt.summary()."));
        Optional<Passes> inference = StraightLines.through(
                new StraightLines.Point(LOW, trial.infer(shape, LOW)),
                new StraightLines.Point(HIGH, trial.infer(shape, HIGH)),
                owners);
        return new MemoryForecast(
                Method.RECORDED,
                certainty(StraightLines.deviation(training, check)),
                training,
                TrialNetwork.trainingMode(network) == WorkspaceMode.NONE
                        ? byLayer(trial, shape, owners)
                        : Optional.empty(),
                inference,
                low.seen().base(),
                shape,
                LayerFacts.of(network));
    }

    /** Steps that know their layers; training that uses no workspaces does not tell. Empty if they cannot be had. */
    private static Optional<Passes> byLayer(Trial trial, BatchShape shape, OwnerTable owners) {
        return StraightLines.through(
                new StraightLines.Point(LOW, trial.trainInWorkspaces(shape, LOW)),
                new StraightLines.Point(HIGH, trial.trainInWorkspaces(shape, HIGH)),
                owners);
    }

    private static String certainty(long deviation) {
        String from = "recorded at batches of " + LOW + " and " + HIGH + " items, checked at " + CHECK + ": ";
        if (deviation == 0) {
            return from + "every array had the predicted size to the byte";
        }
        return from
                + (deviation < 0
                        ? "the network made other arrays there, so take this for an estimate"
                        : "arrays were up to " + deviation + " B off, so take this for an estimate");
    }

    private static Model checked(Model network) {
        boolean initialised = (network instanceof MultiLayerNetwork layers && layers.getLayers() != null)
                || (network instanceof ComputationGraph graph && graph.getVertices() != null);
        if (!initialised) {
            throw new IllegalArgumentException(
                    "network=" + (network == null ? null : network.getClass().getName())
                            + ", expected an initialised MultiLayerNetwork or ComputationGraph");
        }
        return network;
    }
}
