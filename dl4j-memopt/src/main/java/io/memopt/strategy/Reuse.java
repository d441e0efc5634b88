// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

/** What is given back of the memory that a network does not need; each includes what stands above it. */
public enum Reuse {
    /** Nothing: all is as ND4J has it. */
    OFF,
    /** Detached arrays that layers drop are freed as soon as they are dead, see {@link GarbageRelease}; {@code BITWISE}. */
    RELEASED,
    /** Workspaces share one arena for each thread, as large as passes need, see {@link SizedReuse}; {@code BITWISE}. */
    SIZED,
    /** Workspaces share one planned arena for each thread; class of exactness {@code BITWISE}, proved before it is used. */
    PLANNED
}
