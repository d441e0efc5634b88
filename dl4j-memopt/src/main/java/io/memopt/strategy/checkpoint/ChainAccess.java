// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;

/**
 * What a pass needs of a MultiLayerNetwork that has no public access: the configurations of its workspaces, and where it keeps its
 * gradient. Threading: confined.
 */
final class ChainAccess {
    private static final String WORKING = "WS_LAYER_WORKING_MEM";
    private static final String LOOP = "WS_RNN_LOOP_WORKING_MEM";
    static final String ALL = "WS_ALL_LAYERS_ACT";

    private static final Field WORKING_CONFIG = field("WS_LAYER_WORKING_MEM_CONFIG");
    private static final Field GRADIENT_CONFIG = field("WS_LAYER_ACT_X_CONFIG");
    private static final Field ALL_CONFIG = field("WS_ALL_LAYERS_ACT_CONFIG");
    private static final Field LOOP_CONFIG = field("WS_RNN_LOOP_WORKING_MEM_CONFIG");
    private static final Field GRADIENT = field("gradient");
    private static final Method SYNCHRONIZE = synchronize();

    private final MultiLayerNetwork network;

    ChainAccess(MultiLayerNetwork network) {
        this.network = network;
    }

    /** Outputs of segments go to the workspace of all activations; with it open, those of others go to {@code others}. */
    LayerWorkspaceMgr forward(String activations, String others) {
        LayerWorkspaceMgr.Builder builder = LayerWorkspaceMgr.builder()
                .with(ArrayType.INPUT, others, config(ALL_CONFIG))
                .with(
                        ArrayType.ACTIVATIONS,
                        activations,
                        activations.equals(WORKING) ? config(WORKING_CONFIG) : config(ALL_CONFIG));
        return finish(builder);
    }

    /** As {@link #forward}, for outputs that nobody needs. */
    LayerWorkspaceMgr discarding(String others) {
        return forward(WORKING, others);
    }

    /** For the backward pass of layer {@code index}: Deeplearning4j puts gradients of activations into two workspaces in turn. */
    LayerWorkspaceMgr backward(int index, String inputs) {
        LayerWorkspaceMgr.Builder builder = LayerWorkspaceMgr.builder()
                .with(ArrayType.ACTIVATIONS, WORKING, config(WORKING_CONFIG))
                .with(ArrayType.INPUT, inputs, config(ALL_CONFIG))
                .with(
                        ArrayType.ACTIVATION_GRAD,
                        index % 2 == 0 ? "WS_LAYER_ACT_1" : "WS_LAYER_ACT_2",
                        config(GRADIENT_CONFIG));
        return finish(builder);
    }

    private LayerWorkspaceMgr finish(LayerWorkspaceMgr.Builder builder) {
        LayerWorkspaceMgr manager = builder.with(ArrayType.FF_WORKING_MEM, WORKING, config(WORKING_CONFIG))
                .with(ArrayType.BP_WORKING_MEM, WORKING, config(WORKING_CONFIG))
                .with(ArrayType.RNN_FF_LOOP_WORKING_MEM, LOOP, config(LOOP_CONFIG))
                .with(ArrayType.RNN_BP_LOOP_WORKING_MEM, LOOP, config(LOOP_CONFIG))
                .build();
        manager.setHelperWorkspacePointers(network.getHelperWorkspaces());
        return manager;
    }

    WorkspaceConfiguration allConfiguration() {
        return config(ALL_CONFIG);
    }

    /** Tells all layers in which iteration and epoch the network is. */
    void synchronizeCounts() {
        try {
            SYNCHRONIZE.invoke(network);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(SYNCHRONIZE + " cannot be called", e);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(SYNCHRONIZE + " failed", e.getCause());
        }
    }

    void gradient(Gradient gradient) {
        try {
            GRADIENT.set(network, gradient);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(GRADIENT + " cannot be set", e);
        }
    }

    private WorkspaceConfiguration config(Field field) {
        try {
            return (WorkspaceConfiguration) field.get(network);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be read", e);
        }
    }

    private static Field field(String name) {
        try {
            Field field = MultiLayerNetwork.class.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("MultiLayerNetwork has no field " + name, e);
        }
    }

    private static Method synchronize() {
        try {
            Method method = MultiLayerNetwork.class.getDeclaredMethod("synchronizeIterEpochCounts");
            method.setAccessible(true);
            return method;
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("MultiLayerNetwork has no method synchronizeIterEpochCounts", e);
        }
    }
}
