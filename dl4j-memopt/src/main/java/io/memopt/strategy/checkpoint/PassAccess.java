// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.allocator.reuse.NetworkWorkspaces;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What a pass needs of a network that has no public access: the configurations of its workspaces. Both kinds of networks have the same fields. Threading: confined.
 */
final class PassAccess {
    static final String ALL = "WS_ALL_LAYERS_ACT";
    private static final String SEGMENT = NetworkWorkspaces.SEGMENT;
    private static final String WORKING = "WS_LAYER_WORKING_MEM";
    private static final String LOOP = "WS_RNN_LOOP_WORKING_MEM";

    private static final Fields OF_LAYERS = new Fields(MultiLayerNetwork.class);
    private static final Fields OF_GRAPH = new Fields(ComputationGraph.class);

    private final Model network;
    private final Fields fields;
    private final List<INDArray> inputs;

    /** Of a network that holds {@code inputs}, which stay where they are. */
    PassAccess(Model network, List<INDArray> inputs) {
        this.network = network;
        this.inputs = List.copyOf(inputs);
        this.fields = network instanceof MultiLayerNetwork ? OF_LAYERS : OF_GRAPH;
    }

    /** For activations that only their own segment needs. */
    LayerWorkspaceMgr inner() {
        return forward(SEGMENT, fields.all);
    }

    /** For activations that other segments need too. */
    LayerWorkspaceMgr kept() {
        return forward(ALL, fields.all);
    }

    /** For activations that nobody needs. */
    LayerWorkspaceMgr discarded() {
        return forward(WORKING, fields.working);
    }

    private LayerWorkspaceMgr forward(String activations, Field configuration) {
        return finish(LayerWorkspaceMgr.builder()
                .with(ArrayType.INPUT, SEGMENT, config(fields.all))
                .with(ArrayType.ACTIVATIONS, activations, config(configuration)));
    }

    /**
     * For the backward pass of one layer.
     *
     * @param gradients workspace for the gradient of its input; Deeplearning4j has several, {@code WS_LAYER_ACT_} with a number
     */
    LayerWorkspaceMgr backward(String gradients) {
        return finish(LayerWorkspaceMgr.builder()
                .with(ArrayType.ACTIVATIONS, WORKING, config(fields.working))
                .with(ArrayType.INPUT, SEGMENT, config(fields.all))
                .with(ArrayType.ACTIVATION_GRAD, gradients, config(fields.gradients)));
    }

    /**
     * For the updater. Deeplearning4j has it work where the activations were, which is less room than before now; working memory,
     * often larger, is free then, too.
     */
    LayerWorkspaceMgr update() {
        return LayerWorkspaceMgr.builder()
                .with(ArrayType.UPDATER_WORKING_MEM, WORKING, config(fields.working))
                .build();
    }

    private LayerWorkspaceMgr finish(LayerWorkspaceMgr.Builder builder) {
        LayerWorkspaceMgr manager = builder.with(ArrayType.FF_WORKING_MEM, WORKING, config(fields.working))
                .with(ArrayType.BP_WORKING_MEM, WORKING, config(fields.working))
                .with(ArrayType.RNN_FF_LOOP_WORKING_MEM, LOOP, config(fields.loop))
                .with(ArrayType.RNN_BP_LOOP_WORKING_MEM, LOOP, config(fields.loop))
                .build();
        manager.setHelperWorkspacePointers(
                network instanceof MultiLayerNetwork layers
                        ? layers.getHelperWorkspaces()
                        : ((ComputationGraph) network).getHelperWorkspaces());
        keepWhereTheyAre(manager);
        return manager;
    }

    /** Layers would copy kept outputs, and data of prefetching iterators, into their own segment. */
    private void keepWhereTheyAre(LayerWorkspaceMgr manager) {
        manager.setNoLeverageOverride(ALL);
        for (INDArray input : inputs) {
            if (input.isAttached()) {
                manager.setNoLeverageOverride(input.data().getParentWorkspace().getId());
            }
        }
    }

    /** Tells all layers in which iteration and epoch the network is. */
    void synchronizeCounts() {
        try {
            fields.synchronize.invoke(network);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(fields.synchronize + " cannot be called", e);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(fields.synchronize + " failed", e.getCause());
        }
    }

    private WorkspaceConfiguration config(Field field) {
        try {
            return (WorkspaceConfiguration) field.get(network);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be read", e);
        }
    }

    /** Where one kind of network keeps these things. */
    private static final class Fields {
        private final Field working;
        private final Field gradients;
        private final Field all;
        private final Field loop;
        private final Method synchronize;

        private Fields(Class<?> type) {
            this.working = field(type, "WS_LAYER_WORKING_MEM_CONFIG");
            this.gradients = field(type, "WS_LAYER_ACT_X_CONFIG");
            this.all = field(type, "WS_ALL_LAYERS_ACT_CONFIG");
            this.loop = field(type, "WS_RNN_LOOP_WORKING_MEM_CONFIG");
            this.synchronize = synchronize(type);
        }

        private static Field field(Class<?> type, String name) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException e) {
                throw new IllegalStateException(type + " has no field " + name, e);
            }
        }

        private static Method synchronize(Class<?> type) {
            try {
                Method method = type.getDeclaredMethod("synchronizeIterEpochCounts");
                method.setAccessible(true);
                return method;
            } catch (NoSuchMethodException e) {
                throw new IllegalStateException(type + " has no method synchronizeIterEpochCounts", e);
            }
        }
    }
}
