// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.concurrent.atomic.LongAdder;

/**
 * Monotonic counts of all workspace instances of one name, instances of ended threads included. Threading: any thread.
 */
public final class WorkspaceFlows {
    /** Name under which workspaces count once the books know too many names. */
    public static final String SHARED = "other";

    private final LongAdder spills = new LongAdder();
    private final LongAdder spilledBytes = new LongAdder();
    private final LongAdder resizes = new LongAdder();

    WorkspaceFlows() {}

    /** Allocations that did not fit their block. */
    public long spills() {
        return spills.sum();
    }

    public long spilledBytes() {
        return spilledBytes.sum();
    }

    /** Times that a block was allocated anew after the first. */
    public long resizes() {
        return resizes.sum();
    }

    void spilled(long bytes) {
        spills.increment();
        spilledBytes.add(bytes);
    }

    void resized() {
        resizes.increment();
    }
}
