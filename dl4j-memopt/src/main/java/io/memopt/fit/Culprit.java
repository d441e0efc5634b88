// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

/**
 * The layer that needs most of the memory that comes and goes with the batch.
 *
 * @param layer its name, {@code ""} when no layer is known
 * @param bytes what it needs of the settled peak
 * @param text why, in a sentence with the arrays that decide
 */
public record Culprit(String layer, long bytes, String text) {}
