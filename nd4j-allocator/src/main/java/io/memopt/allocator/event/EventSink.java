// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

/**
 * Receives events as primitives, one at a time, on the thread that caused them (but see {@link DeferredSink}) and often many per
 * millisecond. Implementations must not block for long, must not throw and must not call back into ND4J; all threads wait for them.
 * {@link MemoryEvent#of} gives the readable form and says what each number means for each {@link EventKind}.
 */
@FunctionalInterface
public interface EventSink {

    /**
     * Takes one event.
     *
     * @param code kind and small facts, see {@link EventCode}
     * @param timeNanos {@link System#nanoTime()} at which the fact was true
     * @param thread {@link Thread#getId()} of the acting thread
     * @param owner number in the {@link OwnerTable} of the recording
     * @param workspace number of the workspace instance in the {@link WorkspaceTable}, or 0 for none
     * @param address address, or 0 when the kind has none
     * @param bytes size requested, or the figure named by the kind
     * @param extra second figure named by the kind
     */
    void accept(int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra);
}
