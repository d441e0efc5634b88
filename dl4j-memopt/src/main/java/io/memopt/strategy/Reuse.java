// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

/** Whether the arrays of a network's workspaces share bytes beyond what ND4J does. */
public enum Reuse {
    /** Workspaces are ND4J's own. */
    OFF,
    /** One planned arena for each thread; class of exactness {@code BITWISE}, proved before it is used. */
    PLANNED
}
