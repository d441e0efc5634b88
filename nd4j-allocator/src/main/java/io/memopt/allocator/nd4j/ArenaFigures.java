// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.concurrent.atomic.LongAdder;

/** What arenas of all threads did so far; nothing decreases. Threading: safe. */
public final class ArenaFigures {
    private final LongAdder resizes = new LongAdder();
    private final LongAdder trims = new LongAdder();
    private final LongAdder trimmedBytes = new LongAdder();
    private final LongAdder idleBytes = new LongAdder();
    private final LongAdder sizedRegions = new LongAdder();
    private final LongAdder outsideBytes = new LongAdder();

    ArenaFigures() {}

    /** The first block of a thread, or one that comes back, is no resize. */
    void countGrowth(long heldBytes) {
        if (heldBytes > 0) {
            resizes.increment();
        }
    }

    void countTrim(long bytes) {
        trims.increment();
        trimmedBytes.add(bytes);
    }

    void countIdle(long bytes) {
        idleBytes.add(bytes);
    }

    void countSized(long outside) {
        sizedRegions.increment();
        outsideBytes.add(outside);
    }

    /** Times that a block gave way to a larger one. */
    public long resizes() {
        return resizes.sum();
    }

    /** Times that a block was given back because regions had not needed it for long. */
    public long trims() {
        return trims.sum();
    }

    /** Bytes by which arenas shrank in {@link #trims()}. */
    public long trimmedBytes() {
        return trimmedBytes.sum();
    }

    /** Bytes given back because their threads were idle. */
    public long idleBytes() {
        return idleBytes.sum();
    }

    /** Regions whose arrays lay in an arena without a plan. */
    public long sizedRegions() {
        return sizedRegions.sum();
    }

    /** Bytes of arrays of such regions for which the arena was too small: each got memory of its own. */
    public long outsideBytes() {
        return outsideBytes.sum();
    }
}
