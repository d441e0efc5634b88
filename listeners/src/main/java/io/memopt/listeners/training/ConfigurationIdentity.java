// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
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

    /** Looked up once for each class: every iteration asks. */
    private static final ClassValue<@Nullable Field[]> DECLARED = new ClassValue<>() {
        @Override
        protected @Nullable Field[] computeValue(Class<?> type) {
            return new Field[] {find(type, FIELDS[0]), find(type, FIELDS[1])};
        }
    };

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
        WorkspaceConfiguration working = read(network, 0);
        WorkspaceConfiguration activations = read(network, 1);
        if (working != null && !workingMemory.refersTo(working)) {
            workingMemory = new WeakReference<>(working);
        }
        if (activations != null && !layerActivations.refersTo(activations)) {
            layerActivations = new WeakReference<>(activations);
        }
    }

    private static @Nullable WorkspaceConfiguration read(Model network, int index) {
        Field field = DECLARED.get(network.getClass())[index];
        try {
            return field == null ? null : (WorkspaceConfiguration) field.get(network);
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    private static @Nullable Field find(@Nullable Class<?> type, String name) {
        if (type == null) {
            return null;
        }
        for (Field field : type.getDeclaredFields()) {
            if (field.getName().equals(name)) {
                return accessible(field);
            }
        }
        return find(type.getSuperclass(), name);
    }

    private static @Nullable Field accessible(Field field) {
        try {
            field.setAccessible(true);
            return field;
        } catch (RuntimeException e) {
            log.debug("{} cannot be read: {}", field, e.toString());
            return null;
        }
    }
}
