// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.Count;
import java.util.ArrayList;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.MemoryWorkspaceManager;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** What both kinds of network can do, though Deeplearning4j gives it no common name. */
final class Models {
    private Models() {}

    /**
     * {@code model} itself.
     *
     * @throws IllegalArgumentException if it is neither a MultiLayerNetwork nor a ComputationGraph, or not initialised
     */
    static Model check(@Nullable Model model) {
        if (!(model instanceof MultiLayerNetwork || model instanceof ComputationGraph)) {
            throw new IllegalArgumentException(
                    "network=" + (model == null ? null : model.getClass().getName())
                            + ", expected a MultiLayerNetwork or a ComputationGraph");
        }
        if (model.params().isEmpty()) {
            throw new IllegalArgumentException("network has no parameters; call init() first");
        }
        return model;
    }

    static void fit(Model model, DataSet data) {
        if (model instanceof MultiLayerNetwork network) {
            network.fit(data);
        } else {
            ((ComputationGraph) model).fit(data);
        }
    }

    /** A network of the same configuration, parameters and updater state, without listeners. */
    static Model copy(Model model) {
        Model copy = model instanceof MultiLayerNetwork network ? network.clone() : ((ComputationGraph) model).clone();
        copy.setListeners();
        return copy;
    }

    static long parameterBytes(Model model) {
        return model.params().length() * model.params().dataType().width();
    }

    /** The flat updater state; null when the updater has none, or before the first iteration. */
    static @Nullable INDArray updaterState(Model model) {
        if (model instanceof MultiLayerNetwork network) {
            Updater updater = network.getUpdater(false);
            return updater == null ? null : updater.getStateViewArray();
        }
        ComputationGraphUpdater updater = ((ComputationGraph) model).getUpdater(false);
        return updater == null ? null : updater.getStateViewArray();
    }

    /** Says what it is, e.g. {@code "MultiLayerNetwork, 6 layers, 61326 parameters"}. */
    static String describe(Model model) {
        int layers = model instanceof MultiLayerNetwork network
                ? network.getnLayers()
                : ((ComputationGraph) model).getNumLayers();
        return model.getClass().getSimpleName() + ", " + Count.of(layers, "layer") + ", "
                + Count.of(model.numParams(), "parameter");
    }

    /** Workspaces of a thread outlive a network and keep their sizes: figures must not depend on who ran before. */
    static void destroyClosedWorkspaces() {
        MemoryWorkspaceManager manager = Nd4j.getWorkspaceManager();
        for (MemoryWorkspace workspace : new ArrayList<>(manager.getAllWorkspacesForCurrentThread())) {
            if (!workspace.isScopeActive()) {
                manager.destroyWorkspace(workspace);
            }
        }
    }
}
