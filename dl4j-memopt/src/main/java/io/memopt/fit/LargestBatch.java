// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.function.IntPredicate;

/** The largest batch that fits, where each that is smaller fits, too. */
public final class LargestBatch {
    private LargestBatch() {}

    /**
     * Asks small batches first, and {@code 2 log2(result)} times in all.
     *
     * @param most largest batch to ask for, at least 1
     * @return 0 when not even one example fits
     */
    public static int of(int most, IntPredicate fits) {
        int fitting = 0;
        int tooLarge = 1;
        while (tooLarge <= most && fits.test(tooLarge)) {
            fitting = tooLarge;
            tooLarge = (int) Math.min(2L * tooLarge, most + 1L);
        }
        while (tooLarge - fitting > 1) {
            int middle = fitting + (tooLarge - fitting) / 2;
            if (fits.test(middle)) {
                fitting = middle;
            } else {
                tooLarge = middle;
            }
        }
        return fitting;
    }
}
