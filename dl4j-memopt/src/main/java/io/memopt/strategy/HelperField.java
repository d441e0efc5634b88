// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.reflect.Field;
import org.deeplearning4j.nn.layers.LayerHelper;
import org.jspecify.annotations.Nullable;

/** A field of a layer class, read and written whatever its visibility. Threading: as the field. */
public final class HelperField {
    private final Field field;

    /** @throws IllegalStateException if this version of Deeplearning4j has no such field */
    public HelperField(Class<?> layer, String name) {
        try {
            field = layer.getDeclaredField(name);
            field.setAccessible(true);
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(layer + " has no field " + name, e);
        }
    }

    /** What {@code layer} has there. */
    public @Nullable Object get(Object layer) {
        try {
            return field.get(layer);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be read", e);
        }
    }

    /** Puts {@code value} there. */
    public void set(Object layer, @Nullable Object value) {
        try {
            field.set(layer, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be written", e);
        }
    }

    /** Puts {@code after} in the place of {@code before}; does nothing when something else is there. */
    public void exchange(Object layer, LayerHelper before, @Nullable Object after) {
        if (get(layer) == before) {
            set(layer, after);
        }
    }
}
