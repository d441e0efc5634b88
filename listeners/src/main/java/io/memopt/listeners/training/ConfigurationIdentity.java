// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.util.Arrays;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The two workspace configuration objects that every network has for itself and asks its workspaces with. Compared by
 * identity: equal configurations of two networks are two objects.
 */
final class ConfigurationIdentity {
    private static final Logger log = LoggerFactory.getLogger(ConfigurationIdentity.class);
    private static final String[] FIELDS = {"WS_LAYER_WORKING_MEM_CONFIG", "WS_LAYER_ACT_X_CONFIG"};

    private volatile WeakReference<@Nullable WorkspaceConfiguration> workingMemory = new WeakReference<>(null);
    private volatile WeakReference<@Nullable WorkspaceConfiguration> layerActivations = new WeakReference<>(null);

    ConfigurationIdentity(Model network) {
        refresh(network);
    }

    boolean matches(@Nullable WorkspaceConfiguration configuration) {
        return configuration != null
                && (workingMemory.refersTo(configuration) || layerActivations.refersTo(configuration));
    }

    /** Networks make new configuration objects when they are initialised again. */
    void refresh(Model network) {
        WorkspaceConfiguration working = read(network, FIELDS[0]);
        WorkspaceConfiguration activations = read(network, FIELDS[1]);
        if (working != null && !workingMemory.refersTo(working)) {
            workingMemory = new WeakReference<>(working);
        }
        if (activations != null && !layerActivations.refersTo(activations)) {
            layerActivations = new WeakReference<>(activations);
        }
    }

    private static @Nullable WorkspaceConfiguration read(Model network, String name) {
        Field field = find(network.getClass(), name);
        try {
            if (field != null) {
                field.setAccessible(true);
                return (WorkspaceConfiguration) field.get(network);
            }
        } catch (ReflectiveOperationException | RuntimeException e) {
            log.debug("{} of {} cannot be read: {}", name, network.getClass(), e.toString());
        }
        return null;
    }

    private static @Nullable Field find(@Nullable Class<?> type, String name) {
        return type == null
                ? null
                : Arrays.stream(type.getDeclaredFields())
                        .filter(field -> field.getName().equals(name))
                        .findFirst()
                        .orElseGet(() -> find(type.getSuperclass(), name));
    }
}
