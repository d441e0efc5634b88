// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class AlgorithmTableTest {
    private static final int MILLI = 1_000_000;
    private static final AlgorithmTable TABLE = new AlgorithmTable(
            1000,
            true,
            List.of(way(0, 500, MILLI), way(1, 300, 1_050_000), way(2, 100, 1_050_001), way(3, 0, 2 * MILLI)));

    private static ConvolutionAlgorithm way(int id, long bytes, long nanos) {
        return new ConvolutionAlgorithm(id, ConvolutionMath.FMA, 1, bytes, nanos);
    }

    @Test
    void thriftiestWithin_isAsFastAsTheFastestWithin() {
        assertThat(TABLE.thriftiestWithin(1000)).map(ConvolutionAlgorithm::id).hasValue(1);
        assertThat(TABLE.thriftiestWithin(499)).map(ConvolutionAlgorithm::id).hasValue(2);
        assertThat(TABLE.thriftiestWithin(99)).map(ConvolutionAlgorithm::id).hasValue(3);
    }

    @Test
    void thriftiestWithin_ofShortPasses_isAtMostATenthSlower() {
        AlgorithmTable brief =
                new AlgorithmTable(1000, true, List.of(way(0, 500, 50_000), way(1, 300, 55_000), way(2, 100, 55_001)));
        assertThat(brief.thriftiestWithin(1000)).map(ConvolutionAlgorithm::id).hasValue(1);
    }

    @Test
    void thriftiestWithin_ofRanks_isTheFirst() {
        AlgorithmTable ranks = new AlgorithmTable(1000, false, List.of(way(0, 500, 1), way(1, 0, 2)));
        assertThat(ranks.thriftiestWithin(1000)).map(ConvolutionAlgorithm::id).hasValue(0);
    }

    @Test
    void thriftiestWithin_whenNothingFits_isEmpty() {
        AlgorithmTable large = new AlgorithmTable(1000, true, List.of(way(0, 500, 1000)));
        assertThat(large.thriftiestWithin(499)).isEmpty();
    }
}
