// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.analysis.replay.ReplayRow;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReplayBarTest {
    @Test
    void bar_isAsLongAsThePeak_andFilledAsFarAsArraysReach() {
        ReplayRow half = row(1000, 1000);
        ReplayRow whole = row(2000, 500);
        ReplayBar bars = new ReplayBar(List.of(half, whole));

        assertThat(bars.of(half)).isEqualTo("#".repeat(12));
        assertThat(bars.of(whole)).isEqualTo("#".repeat(6) + ".".repeat(18));
    }

    @Test
    void nothingReserved_noBar() {
        ReplayRow nothing = row(0, 0);

        assertThat(new ReplayBar(List.of(nothing)).of(nothing)).isEmpty();
    }

    private static ReplayRow row(long reserved, long live) {
        return new ReplayRow("model", reserved, live, live, 0, 0, 1, "");
    }
}
