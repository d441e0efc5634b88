// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.Owner;

/**
 * One thing that a network does to memory in a pass. Sizes are straight lines over the batch size, which for
 * Deeplearning4j's layers is exact: every array has the batch as one of its dimensions, or does not depend on it.
 *
 * @param workspace name of the workspace, {@code ""} for detached arrays
 * @param owner who does it
 * @param fixedBytes bytes requested whatever the batch
 * @param itemBytes bytes requested in addition for each item of the batch
 */
record Step(Op op, String workspace, Owner owner, long fixedBytes, long itemBytes) {

    enum Op {
        /** A workspace scope is opened. */
        ENTER,
        /** It is closed. */
        CLOSE,
        /** An array is made in a workspace. */
        ARRAY,
        /** An array is made outside every workspace. */
        DETACHED,
        /** A detached array is closed by the program. */
        FREE
    }

    static Step scope(Op op, String workspace) {
        return new Step(op, workspace, Owner.UNKNOWN, 0, 0);
    }

    /** Bytes requested at {@code batch} items, never negative. */
    long bytes(long batch) {
        return Math.max(0, Math.addExact(fixedBytes, Math.multiplyExact(itemBytes, batch)));
    }
}
