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

    /** An iteration of training ended; {@code nanos} is 0 when its start was not seen. Extra passes are none. */
    default void iterationEnded(String network, long iteration, long epoch, long nanos) {}

    /** A forward and backward pass was computed, or begun and undone, that is no iteration. */
    default void extraPass(String network, ExtraPass kind) {}

    /** A thread left a phase that it had been in for {@code nanos}; extra passes of attached networks have theirs, too. */
    default void phaseEnded(String network, Phase phase, long nanos) {}

    /** The same of a copy that is only tried; nothing else is told of those but {@link #extraPass}. */
    default void trialPhaseEnded(String network, Phase phase, long nanos) {}

    /** The network was detached or garbage collected; its name may be given to another one later. */
    default void networkRemoved(String network) {}
}
