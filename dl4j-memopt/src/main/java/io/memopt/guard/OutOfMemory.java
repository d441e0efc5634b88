// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

/** What is done when an iteration of training runs out of memory. */
public enum OutOfMemory {
    /** Nothing stands in the training step. {@code MemOpt.explain} and {@code MemOpt.postMortem} tell why when they are asked. */
    REPORT,
    /** The iteration is undone, a post-mortem is written, and the failure goes to the caller of {@code fit}. */
    GUARD,
    /** As {@link #GUARD}, but the iteration is first done again in ways that change no bit of the results and are predicted to fit. */
    RECOVER_BITWISE,
    /** As {@link #RECOVER_BITWISE}, and then in micro-batches, whose sums differ in their last digits. */
    RECOVER;

    /** Whether anything stands in the training step. */
    public boolean guards() {
        return this != REPORT;
    }

    boolean recovers() {
        return this == RECOVER_BITWISE || this == RECOVER;
    }
}
