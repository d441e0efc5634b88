// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.nd4j.BufferKeys;
import io.memopt.allocator.nd4j.MappedBuffers;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.nd4j.PinnedBlock;
import io.memopt.allocator.nd4j.Recording;
import io.memopt.allocator.recording.MemoryLedger;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * One observed network: its name, its owners in the ledger, and how to find its flat arrays. Holds the network weakly, so
 * observing never keeps one alive.
 *
 * <p>Threading: immutable but for the identities of flat arrays, which are refreshed by the training thread.
 */
final class TrackedNetwork {
    /** A ComputationGraph has no getter for its labels. */
    private static final @Nullable Field GRAPH_LABELS = graphLabels();

    /** The updater makes its state in the first iteration. */
    private static final int ALWAYS = 4;

    private static final int EVERY = 16;

    private final String name;
    private final Recording recording;
    private final WeakReference<Model> model;
    private final WeakReference<Model> original;
    private final NetworkLayout layout;
    private final boolean withoutWorkspaces;
    private final boolean trial;
    private final Map<Phase, Integer> phaseOwners = new EnumMap<>(Phase.class);
    private final Map<Phase, int[]> layerOwners = new EnumMap<>(Phase.class);
    private final ConfigurationIdentity configurations;
    private volatile @Nullable ConfigurationIdentity computing;
    /** Number of the owner of inputs, wherever they were made. */
    private final int inputs;

    private final long[] flatKeys = new long[3];
    private long iterations;

    /** {@code original}: what {@code model} is a working copy of; itself for most. */
    TrackedNetwork(String name, Model model, Model original, Recording recording) {
        this.name = name;
        this.recording = recording;
        this.model = new WeakReference<>(model);
        this.original = new WeakReference<>(original);
        this.layout = NetworkLayout.of(model);
        this.trial = Owner.isTrial(name);
        this.withoutWorkspaces = trainingMode(model) == WorkspaceMode.NONE;
        this.configurations = new ConfigurationIdentity(model);
        OwnerTable owners = recording.ledger().owners();
        this.inputs = owners.idOf(new Owner(name, "", Phase.NONE, Category.INPUT, ""));
        for (Phase phase : Phase.values()) {
            phaseOwners.put(phase, owners.idOf(owner("", phase)));
        }
        layerOwners.put(Phase.FORWARD, idsOf(layout.training(), Phase.FORWARD));
        layerOwners.put(Phase.BACKWARD, idsOf(layout.backward(), Phase.BACKWARD));
        layerOwners.put(Phase.SCORE, idsOf(layout.outputs(), Phase.SCORE));
        layerOwners.put(Phase.INFERENCE, idsOf(layout.inference(), Phase.INFERENCE));
        layerOwners.put(Phase.EVALUATION, idsOf(layout.inference(), Phase.EVALUATION));
    }

    String name() {
        return name;
    }

    Recording recording() {
        return recording;
    }

    @Nullable
    Model model() {
        return model.get();
    }

    /** What it is a copy of; itself for most; null when that is gone. */
    @Nullable
    Model original() {
        return original.get();
    }

    NetworkLayout layout() {
        return layout;
    }

    /** True when training uses no workspaces, so that layers cannot be told apart. */
    boolean withoutWorkspaces() {
        return withoutWorkspaces;
    }

    /** True for a copy that is only tried: its iterations are none of training's. */
    boolean isTrial() {
        return trial;
    }

    /** Passes of {@code other} are this network's from now on, and those of an earlier one are not. */
    void computedBy(Model other) {
        computing = new ConfigurationIdentity(other);
    }

    /** Whether workspaces of this network's passes are asked for with {@code configuration}. */
    boolean uses(@Nullable WorkspaceConfiguration configuration) {
        ConfigurationIdentity other = computing;
        return configurations.matches(configuration) || (other != null && other.matches(configuration));
    }

    /** Owner of the {@code visit}-th layer visit of {@code phase}; of the phase as a whole when out of range. */
    int ownerOf(Phase phase, int visit) {
        int[] owners = layerOwners.get(phase);
        return owners == null || visit < 0 || visit >= owners.length ? ownerOf(phase) : owners[visit];
    }

    /** Owner of what belongs to {@code phase} but to no single layer. */
    int ownerOf(Phase phase) {
        return phaseOwners.getOrDefault(phase, OwnerTable.UNKNOWN);
    }

    /** As {@link #classifyFlatArrays}, but of later iterations only every {@value #EVERY}th: flat arrays rarely move. */
    void classifyAfterIteration() {
        if (iterations < ALWAYS || iterations % EVERY == 0) {
            classifyFlatArrays();
        }
        iterations++;
    }

    /** Tells the ledger which allocations are parameters, gradients and updater state. Cheap when nothing moved. */
    void classifyFlatArrays() {
        Model network = model.get();
        if (network == null) {
            return;
        }
        configurations.refresh(network);
        classify(0, network.params(), Category.PARAMETERS);
        classify(1, network.getGradientsViewArray(), Category.GRADIENTS);
        classify(2, updaterState(network), Category.UPDATER_STATE);
    }

    /** Tells the ledger which allocations are the features and labels that the network works on. */
    void classifyInputs() {
        Model network = model.get();
        if (network instanceof MultiLayerNetwork mln) {
            input(mln.getInput());
            input(mln.getLabels());
        } else if (network instanceof ComputationGraph graph) {
            inputs(graph.getInputs());
            inputs(labelsOf(graph));
        }
    }

    private static INDArray @Nullable [] labelsOf(ComputationGraph graph) {
        try {
            return GRAPH_LABELS == null ? null : (INDArray[]) GRAPH_LABELS.get(graph);
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    private static @Nullable Field graphLabels() {
        try {
            Field field = ComputationGraph.class.getDeclaredField("labels");
            field.setAccessible(true);
            return field;
        } catch (ReflectiveOperationException | RuntimeException e) {
            return null;
        }
    }

    private void inputs(INDArray @Nullable [] arrays) {
        if (arrays != null) {
            for (INDArray array : arrays) {
                input(array);
            }
        }
    }

    private void input(@Nullable INDArray array) {
        long key = BufferKeys.keyOf(array);
        if (key != 0) {
            recording.ledger().classified(key, inputs);
        }
    }

    private void classify(int slot, @Nullable INDArray array, Category category) {
        long key = BufferKeys.keyOf(array);
        if (key == 0 || array == null || key == flatKeys[slot]) {
            return;
        }
        flatKeys[slot] = key;
        long address = array.data().address();
        MemoryLedger ledger = recording.ledger();
        if (PinnedBlock.begins(address)) {
            ledger.reclassify(address, name, category);
        } else if (!MappedBuffers.begins(address)) {
            MemorySpace space = Nd4jFacts.isCuda() ? MemorySpace.DEVICE : MemorySpace.HOST;
            long bytes = array.data().underlyingLength() * array.data().getElementSize();
            ledger.adopt(space, key, address, bytes, name, category);
        }
    }

    private static @Nullable INDArray updaterState(Model network) {
        if (network instanceof MultiLayerNetwork mln) {
            Updater updater = mln.getUpdater(false);
            return updater == null ? null : updater.getStateViewArray();
        }
        if (network instanceof ComputationGraph graph) {
            ComputationGraphUpdater updater = graph.getUpdater(false);
            return updater == null ? null : updater.getStateViewArray();
        }
        return null;
    }

    private static @Nullable WorkspaceMode trainingMode(Model network) {
        if (network instanceof MultiLayerNetwork mln) {
            return mln.getLayerWiseConfigurations().getTrainingWorkspaceMode();
        }
        return network instanceof ComputationGraph graph
                ? graph.getConfiguration().getTrainingWorkspaceMode()
                : null;
    }

    private int[] idsOf(List<String> layers, Phase phase) {
        return layers.stream()
                .mapToInt(layer -> recording.ledger().owners().idOf(owner(layer, phase)))
                .toArray();
    }

    private Owner owner(String layer, Phase phase) {
        return new Owner(name, layer, phase, Category.OTHER, "");
    }
}
