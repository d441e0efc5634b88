// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

/** Why there was no memory, as far as figures can tell. */
public enum Cause {
    /** A setting refused what the machine has: {@code -Xmx}, a cap of JavaCPP, a limit of this library, a container. */
    LIMIT_SETTING,
    /** What was held grew with every iteration. */
    GROWTH,
    /** Enough bytes were reserved that no array used, but not in one piece that the request could have. */
    FRAGMENTATION,
    /** Memory that one layer needs while it computes makes up most of the moment. */
    SCRATCH_SPIKE,
    /** Other processes hold most of the machine or device. */
    OTHER_PROCESS,
    /** The network with this minibatch needs more than there is. */
    CAPACITY
}
