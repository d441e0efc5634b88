// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.pool.CopyLanes;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Memory of the device that parts of a state have in turns. Threading: confined. */
final class StagingSlot {
    static final int NOTHING = -1;

    private final INDArray room;
    private int part = NOTHING;
    private long copy = CopyLanes.NONE;

    StagingSlot(INDArray room) {
        this.room = room;
    }

    INDArray room() {
        return room;
    }

    /** That which is there or on its way; {@link #NOTHING} if none is. */
    int part() {
        return part;
    }

    void holds(int its) {
        part = its;
    }

    /** The latest one out of it or into it. */
    long copy() {
        return copy;
    }

    void begun(CopyLanes lanes, long next) {
        lanes.forget(copy);
        copy = next;
    }
}
