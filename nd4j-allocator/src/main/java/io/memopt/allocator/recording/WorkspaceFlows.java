// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Monotonic counts of all workspace instances of one name, instances of ended threads included. Threading: written under the lock
 * of the {@link Journals}, read by any thread.
 */
public final class WorkspaceFlows {
    /** Name under which workspaces count once the books know too many names. */
    public static final String SHARED = "other";

    private final AtomicLong spills = new AtomicLong();
    private final AtomicLong spilledBytes = new AtomicLong();
    private final AtomicLong resizes = new AtomicLong();

    WorkspaceFlows() {}

    /** Allocations that did not fit their block. */
    public long spills() {
        return spills.getOpaque();
    }

    public long spilledBytes() {
        return spilledBytes.getOpaque();
    }

    /** Times that a block was allocated anew after the first. */
    public long resizes() {
        return resizes.getOpaque();
    }

    void spilled(long bytes) {
        spills.setOpaque(spills.getPlain() + 1);
        spilledBytes.setOpaque(spilledBytes.getPlain() + bytes);
    }

    void resized() {
        resizes.setOpaque(resizes.getPlain() + 1);
    }
}
