// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

/**
 * A sink that keeps events for later readers, so that it may hear of them late and from any thread; still in the order of their
 * times, but for what a thread was just writing. It calls {@link EventSource#post} before anyone reads what it keeps. While all sinks of a recording are of this kind,
 * threads write down what happens and pass it on in batches, which costs them a fraction.
 */
public interface DeferredSink extends EventSink {
    /** The sink hears events of {@code source} from now on. */
    void heardFrom(EventSource source);
}
