// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

/**
 * The layer that needs most of the memory that comes and goes with the batch.
 *
 * @param layer its name, {@code ""} when no layer is known
 * @param bytes what it needs of the settled peak
 * @param text why, in a sentence with the arrays that decide
 * @param fix what to do and what it will have for an effect on the peak, {@code ""} for a batch of one
 */
public record Culprit(String layer, long bytes, String text, String fix) {

    Culprit withFix(String newFix) {
        return new Culprit(layer, bytes, text, newFix);
    }
}
