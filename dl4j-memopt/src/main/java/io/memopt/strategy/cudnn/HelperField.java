// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import java.lang.reflect.Field;
import org.deeplearning4j.nn.layers.LayerHelper;
import org.jspecify.annotations.Nullable;

/** A field of a layer class, read and written whatever its visibility. */
final class HelperField {
    private final Field field;

    /** @throws IllegalStateException if this version of Deeplearning4j has no such field */
    HelperField(Class<?> layer, String name) {
        try {
            field = layer.getDeclaredField(name);
            field.setAccessible(true);
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(layer + " has no field " + name, e);
        }
    }

    @Nullable
    Object get(Object layer) {
        try {
            return field.get(layer);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be read", e);
        }
    }

    void set(Object layer, @Nullable Object value) {
        try {
            field.set(layer, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be written", e);
        }
    }

    /** Puts {@code after} in the place of {@code before}; does nothing when something else is there. */
    void exchange(Object layer, LayerHelper before, @Nullable Object after) {
        if (get(layer) == before) {
            set(layer, after);
        }
    }
}
