// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

/**
 * A spill or a resize.
 *
 * @param iteration training iterations ended before
 * @param bytes size of the array that did not fit, or of the new block
 */
public record WorkspaceChange(
        Type type, long timeNanos, long iteration, int workspace, String name, String layer, long bytes) {

    /** What happened. */
    public enum Type {
        SPILL,
        /** A block after the first of the same workspace. */
        RESIZE
    }
}
