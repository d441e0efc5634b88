// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import java.util.Arrays;

/** The slope of {@link Growth}: its source is named there. */
public final class TheilSen {
    /** Quantile of the normal distribution for a two-sided 95 % interval. */
    private static final double Z95 = 1.959963984540054;

    final double slope;
    final double low;
    final double high;

    private TheilSen(double slope, double low, double high) {
        this.slope = slope;
        this.low = low;
        this.high = high;
    }

    /**
     * The slope of {@code values} over their index times {@code stride}.
     *
     * @param values at least 2
     * @return the interval is the whole line when there are too few samples for any
     */
    public static TheilSen of(long[] values, long stride) {
        long[] at = new long[values.length];
        Arrays.setAll(at, i -> i * stride);
        double[] slopes = slopes(at, values);
        int pairs = slopes.length;
        double reach = Z95 * Math.sqrt(variance(values));
        int low = (int) Math.floor((pairs - reach) / 2);
        int high = (int) Math.ceil((pairs + reach) / 2);
        return new TheilSen(
                median(slopes),
                low < 1 ? Double.NEGATIVE_INFINITY : slopes[low - 1],
                high >= pairs ? Double.POSITIVE_INFINITY : slopes[high]);
    }

    /**
     * The slope alone, of {@code values} over {@code at}.
     *
     * @param at at least 2, each larger than the one before
     */
    public static double slope(long[] at, long[] values) {
        return median(slopes(at, values));
    }

    /** Of all pairs, ascending. */
    private static double[] slopes(long[] at, long[] values) {
        int n = values.length;
        double[] slopes = new double[n * (n - 1) / 2];
        int pair = 0;
        for (int i = 0; i < n; i++) {
            for (int j = i + 1; j < n; j++) {
                slopes[pair++] = (double) (values[j] - values[i]) / (at[j] - at[i]);
            }
        }
        Arrays.sort(slopes);
        return slopes;
    }

    private static double median(double[] sorted) {
        int half = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }

    /** The median of the slopes of all pairs. */
    public double slope() {
        return slope;
    }

    /** Variance of Kendall's S with groups of equal values: (n(n-1)(2n+5) - sum t(t-1)(2t+5)) / 18. */
    private static double variance(long[] values) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        double sum = term(sorted.length);
        for (int from = 0; from < sorted.length; ) {
            int to = from;
            while (to < sorted.length && sorted[to] == sorted[from]) {
                to++;
            }
            sum -= term(to - from);
            from = to;
        }
        return sum / 18;
    }

    private static double term(double n) {
        return n * (n - 1) * (2 * n + 5);
    }
}
