// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class OwnerHistoryTest {
    @Test
    void slope_ofSteadyGrowth_isItsRate() {
        OwnerHistory.Slope slope = OwnerHistory.slope(
                LongStream.range(0, 100).map(i -> 5_000 + 300 * i).toArray(), 10);

        assertThat(slope.bytesPerStep()).isEqualTo(30, within(1e-9));
        assertThat(slope.fit()).isEqualTo(1, within(1e-9));
    }

    @Test
    void slope_ofWarmUpOnly_isNone() {
        long[] values =
                LongStream.range(0, 100).map(i -> Math.min(i, 40) * 1_000).toArray();

        assertThat(OwnerHistory.slope(values, 1)).isEqualTo(OwnerHistory.Slope.NONE);
    }

    @Test
    void slope_ofFewSamples_isNone() {
        assertThat(OwnerHistory.slope(new long[] {1, 2, 3}, 1)).isEqualTo(OwnerHistory.Slope.NONE);
    }
}
