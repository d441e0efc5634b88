// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

/**
 * The policy of an allocator without its memory: where it puts bytes decides what it must hold. Addresses are numbers that
 * nobody dereferences. Out of memory does not happen. Threading: confined.
 */
public interface AllocatorModel {

    /** Short stable name, as in {@code --allocator}. */
    String name();

    /**
     * Places an array.
     *
     * @param bytes at least 1
     * @param outlives whether it lives on after the current training iteration (or pass); known because the trace is
     * @return what {@link #free} takes
     */
    Object allocate(long bytes, boolean outlives);

    /** Takes an array back. */
    void free(Object handle);

    /** A training iteration, or a forward pass where the trace has no training, ended: streams are idle. */
    default void iterationEnded() {}

    /** Bytes held from the driver now. */
    long reservedBytes();

    /** Bytes of live arrays after rounding. */
    long roundedBytes();

    /** Largest array that would fit without asking the driver. */
    long largestHoleBytes();

    /** Calls to the driver so far: allocations and releases. */
    long driverCalls();
}
