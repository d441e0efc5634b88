// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.precision;

/** In which type of numbers gradients are computed. */
public enum Precision {
    /** That of the network. */
    AS_CONFIGURED,

    /**
     * HALF for activations and gradients, with a loss that is scaled so that gradients are not lost among the smallest numbers;
     * FLOAT for parameters, updater state and the loss itself. Class of exactness {@code LOSSY}.
     */
    MIXED_HALF
}
