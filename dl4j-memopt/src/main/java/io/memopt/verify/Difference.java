// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.Count;
import java.util.Locale;

/**
 * How far two runs are apart, number by number. Compared as raw bits: NaN equals NaN of the same bits, 0.0 is not -0.0.
 *
 * @param parameters largest absolute difference of two parameters; infinite when one of them is not finite
 * @param updaterState the same for the updater's state
 * @param scores the same for the scores of the iterations
 * @param differing numbers whose bits differ, of all three
 * @param firstIteration iteration from 0 whose score is the first to differ, -1 when all are equal
 */
public record Difference(double parameters, double updaterState, double scores, long differing, int firstIteration) {

    /** True when not one bit differs. */
    public boolean isBitwise() {
        return differing == 0;
    }

    /** Largest absolute difference of all. */
    public double largest() {
        return Math.max(parameters, Math.max(updaterState, scores));
    }

    @Override
    public String toString() {
        if (isBitwise()) {
            return "equal bit for bit";
        }
        return String.format(
                Locale.ROOT,
                "%s, at most by %.3g in parameters, %.3g in updater state, %.3g in scores (%s)",
                Count.of(differing, "number") + (differing == 1 ? " differs" : " differ"),
                parameters,
                updaterState,
                scores,
                firstIteration < 0 ? "all equal" : "from iteration " + firstIteration);
    }
}
