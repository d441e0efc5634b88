// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What one batch normalisation keeps from its forward pass for its backward pass: the centred input {@code xMu} and the
 * normalised input {@code xHat}, both of the input's shape. Deeplearning4j 1.0.0-M2.1 detaches both in every forward pass, in
 * training and in inference, and drops them: the backward pass sets the fields to null, the next forward pass overwrites them.
 *
 * <p>An array that was in such a field and no longer is, is dead. This rests on what the class does with them: it makes both
 * arrays itself, reads them through the fields, and hands neither out. The one exception is {@code xHat} of a layer whose gamma
 * and beta are locked: without a workspace it may be the layer's output, so it is never looked at. Subclasses may do other
 * things and are left alone.
 *
 * <p>Keeps at most one array for each field. Threading: safe; the layer itself is not, as ever.
 */
public final class NormalizationResidue {
    private final WeakReference<BatchNormalization> layer;
    private final List<Slot> slots = new ArrayList<>();

    private NormalizationResidue(BatchNormalization layer) {
        this.layer = new WeakReference<>(layer);
        slots.add(new Slot(field("xMu")));
        if (!configuration(layer).isLockGammaBeta()) {
            slots.add(new Slot(field("xHat")));
        }
    }

    /**
     * One for each batch normalisation among {@code layers}, wrapped ones too.
     *
     * @throws IllegalStateException if this version of Deeplearning4j has other fields
     */
    public static List<NormalizationResidue> of(Layer[] layers) {
        List<NormalizationResidue> found = new ArrayList<>();
        for (Layer layer : layers) {
            Layer inner = layer;
            while (inner instanceof BaseWrapperLayer wrapper) {
                inner = wrapper.getUnderlying();
            }
            if (inner != null && inner.getClass() == BatchNormalization.class) {
                found.add(new NormalizationResidue((BatchNormalization) inner));
            }
        }
        return found;
    }

    /**
     * Frees what is no longer in its field, remembers what is there now.
     *
     * @return bytes freed
     */
    public synchronized long sweep() {
        BatchNormalization known = layer.get();
        long freed = 0;
        for (Slot slot : slots) {
            freed += slot.sweep(known);
        }
        return freed;
    }

    /** Frees what is in the fields now: the layer's forward pass will be computed again before its backward pass. */
    public synchronized void drop() {
        BatchNormalization known = layer.get();
        if (known != null) {
            slots.forEach(slot -> slot.drop(known));
        }
    }

    /** One field, and the array that was there when last looked. */
    private static final class Slot {
        private final Field field;
        private @Nullable INDArray held;

        private Slot(Field field) {
            this.field = field;
        }

        private long sweep(@Nullable BatchNormalization layer) {
            INDArray now = layer == null ? null : read(layer);
            INDArray before = held;
            held = now != null && !now.isEmpty() && now.closeable() ? now : null;
            if (before == null || !before.closeable() || (now != null && now.data() == before.data())) {
                return 0;
            }
            long bytes = before.data().length() * before.data().getElementSize();
            before.close();
            return bytes;
        }

        private void drop(BatchNormalization layer) {
            INDArray now = read(layer);
            write(layer);
            if (now != null && !now.isEmpty() && now.closeable()) {
                now.close();
            }
        }

        private void write(BatchNormalization layer) {
            try {
                field.set(layer, null);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(field + " cannot be written", e);
            }
        }

        private @Nullable INDArray read(BatchNormalization layer) {
            try {
                return (INDArray) field.get(layer);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(field + " cannot be read", e);
            }
        }
    }

    private static org.deeplearning4j.nn.conf.layers.BatchNormalization configuration(BatchNormalization layer) {
        return (org.deeplearning4j.nn.conf.layers.BatchNormalization)
                layer.conf().getLayer();
    }

    private static Field field(String name) {
        try {
            Field field = BatchNormalization.class.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(BatchNormalization.class + " has no field " + name, e);
        }
    }
}
