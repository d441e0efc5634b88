// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TheilSenTest {
    @Test
    void slope_ofExactLine_isExact() {
        long[] values = new long[50];
        for (int i = 0; i < values.length; i++) {
            values[i] = 7 + 20_000_000L * i;
        }
        TheilSen line = TheilSen.of(values, 4);

        assertThat(line.slope).isEqualTo(5_000_000);
        assertThat(line.low).isEqualTo(5_000_000);
        assertThat(line.high).isEqualTo(5_000_000);
    }

    @Test
    void slope_withOutliers_isHardlyMoved() {
        long[] values = new long[60];
        Random random = new Random(1);
        for (int i = 0; i < values.length; i++) {
            values[i] = 1000L * i + random.nextInt(500) + (i % 10 == 3 ? 1_000_000 : 0);
        }
        TheilSen line = TheilSen.of(values, 1);

        assertThat(line.slope).isCloseTo(1000, within(60.0));
        assertThat(line.low).isPositive();
    }

    @Test
    void interval_ofNoise_holdsZero() {
        int covered = 0;
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            long[] values = random.longs(40, 0, 1_000_000).toArray();
            TheilSen line = TheilSen.of(values, 1);
            covered += line.low <= 0 && line.high >= 0 ? 1 : 0;
        }
        // 95 % of 200 are 190; three standard deviations of a binomial distribution are 9.
        assertThat(covered).isBetween(181, 199);
    }

    @Test
    void interval_ofThreeSamples_isUnbounded() {
        TheilSen line = TheilSen.of(new long[] {1, 2, 3}, 1);

        assertThat(line.slope).isEqualTo(1);
        assertThat(line.low).isEqualTo(Double.NEGATIVE_INFINITY);
    }

    @Test
    void slope_overUnevenPlaces_isThatOfTheLine() {
        long[] at = {1, 2, 5, 9, 10, 40};
        long[] values = Arrays.stream(at).map(x -> 7 * x - 3).toArray();
        values[2] = 1_000_000;

        assertThat(TheilSen.slope(at, values)).isEqualTo(7);
        assertThat(TheilSen.slope(new long[] {3, 5}, new long[] {10, 4})).isEqualTo(-3);
    }
}
