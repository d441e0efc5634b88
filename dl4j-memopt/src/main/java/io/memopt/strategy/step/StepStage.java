// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

/** How far an iteration had come. */
public enum StepStage {
    /** Gradients are being computed; nothing that outlives the iteration has changed. */
    GRADIENTS,
    /** The updater makes updates of gradients and changes its state. */
    UPDATE,
    /** Parameters have their new values. Listeners and constraints follow. */
    UPDATED
}
