// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

/**
 * Hears of the progress of attached networks, on the training thread. Durations are nanoseconds of wall time. Must be
 * quick and must not throw.
 */
public interface TrainingObserver {

    /** A network is observed from now on. */
    default void networkAttached(String network) {}

    /** An iteration ended; {@code nanos} is 0 when its start was not seen. */
    default void iterationEnded(String network, long iteration, long epoch, long nanos) {}

    /** A thread left a phase that it had been in for {@code nanos}. */
    default void phaseEnded(String network, Phase phase, long nanos) {}

    /** The network was detached or garbage collected; its name may be given to another one later. */
    default void networkRemoved(String network) {}
}
