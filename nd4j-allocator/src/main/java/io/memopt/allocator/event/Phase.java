// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

/** What a thread does for a network. Order is part of the trace format: append only. */
public enum Phase {
    /** No network is known to run on this thread. */
    NONE,
    FORWARD,
    BACKWARD,
    SCORE,
    UPDATE,
    INFERENCE,
    EVALUATION,
    /** A network runs in a way the tracker has no finer name for, e.g. pre-training or external errors. */
    OTHER
}
