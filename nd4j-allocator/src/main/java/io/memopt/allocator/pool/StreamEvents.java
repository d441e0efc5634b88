// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

/**
 * Tells when a device is through with the work it was given. A device works on each stream in order, and on different
 * streams in any order.
 *
 * <p>Threading: called by one thread at a time, any thread.
 */
public interface StreamEvents {
    /** Stands for all streams of the device: work whose stream nobody knows. */
    long EVERY_STREAM = 0;

    /** Events of a device on which work is finished when it is given. */
    StreamEvents SYNCHRONOUS = new StreamEvents() {
        @Override
        public long record(long stream) {
            return 1;
        }

        @Override
        public boolean isDone(long event) {
            return true;
        }

        @Override
        public void await(long event) {}

        @Override
        public void discard(long event) {}
    };

    /**
     * Marks what {@code stream} has been given so far; {@link #EVERY_STREAM}: what all streams have.
     *
     * @return an event for the methods below
     */
    long record(long stream);

    /** True once all that was marked is finished. Does not block. */
    boolean isDone(long event);

    /** Returns once all that was marked is finished. */
    void await(long event);

    /** The event is not asked for again. */
    void discard(long event);
}
