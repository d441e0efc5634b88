// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

/**
 * What bytes are for. Derived from flat parameter buffers, workspace names and training phase, never from sizes.
 *
 * <p>Order is part of the trace format: append only.
 */
public enum Category {
    PARAMETERS,
    GRADIENTS,
    UPDATER_STATE,
    ACTIVATIONS,
    ACTIVATION_GRADIENTS,
    WORKING_MEMORY,
    INPUT,
    HELPER_SCRATCH,
    CONSTANTS,
    OTHER
}
