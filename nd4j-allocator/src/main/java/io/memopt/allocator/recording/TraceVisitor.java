// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.EventSink;

/**
 * Takes the events of a trace, in the order in which the recorder accepted them. Times may step back by the few
 * nanoseconds, under load microseconds, between a thread's look at the clock and its turn at the recorder.
 */
@FunctionalInterface
public interface TraceVisitor extends EventSink {

    /** {@code events} events between the one before and the one that follows are missing: dropped, or damaged. */
    default void gap(long events) {}

    /** {@code bytes} bytes at {@code offset} are damaged and were skipped. */
    default void corrupt(long offset, long bytes) {}
}
