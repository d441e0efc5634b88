// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.pool.CopyLanes;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Memory of the device that outputs have in turns. Threading: confined. */
final class Slot {
    final INDArray room;
    private long copy = CopyLanes.NONE;
    private boolean underWay;
    private @Nullable Form form;
    private @Nullable INDArray array;

    /** In all of {@code room}, a flat array. */
    Slot(INDArray room) {
        this.room = room;
    }

    boolean isFree() {
        return form == null;
    }

    boolean isFreeFor(Form wanted) {
        return isFree() && room.dataType() == wanted.type() && room.length() >= wanted.elements();
    }

    /** It is {@code its} from now on, which is returned with undefined values. */
    INDArray take(Form its) {
        INDArray made = its.in(room.data());
        form = its;
        array = made;
        return made;
    }

    /** The latest copy out of it or into it. */
    long copy() {
        return copy;
    }

    /** {@code next} is the latest copy. */
    void begun(long next) {
        copy = next;
        underWay = true;
    }

    /** Whether nothing has waited for the latest copy yet. */
    boolean isUnderWay() {
        return underWay;
    }

    /** Something has. */
    void awaited() {
        underWay = false;
    }

    /** Free from now on, once {@link #copy} is done. */
    void leave() {
        form = null;
        array = null;
    }

    Form form() {
        return Objects.requireNonNull(form, "form");
    }

    INDArray array() {
        return Objects.requireNonNull(array, "array");
    }
}
