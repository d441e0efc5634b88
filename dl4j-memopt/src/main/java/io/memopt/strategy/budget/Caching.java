// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

/**
 * What becomes of a network's {@code CacheMode}, with which convolutions keep their unfolded inputs, and recurrent layers their gates,
 * from the forward to the backward pass. Without it they are computed once more; bits are the same.
 */
public enum Caching {
    /** The network has none. */
    NONE,
    /** In effect, as configured. */
    KEPT,
    /** Switched off until the budget ends. */
    OFF
}
