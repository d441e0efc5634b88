// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

import org.jspecify.annotations.Nullable;

/** Where a {@link DeferredSink} has its events from. Threading: any thread. */
public interface EventSource {
    /** No events. */
    EventSource NONE = new EventSource() {
        @Override
        public void post() {}

        @Override
        public @Nullable String threadName(long id) {
            return null;
        }
    };

    /** Hands over the events so far that sinks have not heard of. The caller holds no lock that {@link EventSink#accept} takes. */
    void post();

    /** Name of a thread that events come from, while it lives or has events to hand over; null when not known. */
    @Nullable
    String threadName(long id);
}
