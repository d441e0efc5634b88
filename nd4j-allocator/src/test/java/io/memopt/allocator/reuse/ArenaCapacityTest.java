// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import org.junit.jupiter.api.Test;

class ArenaCapacityTest {
    private static final int PATIENCE = 64;

    private final ArenaCapacity capacity = new ArenaCapacity(PATIENCE);

    @Test
    void firstGrowths_areExact() {
        assertThat(capacity.grown(0, 1000)).isEqualTo(1000);
        assertThat(capacity.grown(1000, 900)).isEqualTo(1000);
        assertThat(capacity.grown(1000, 1500)).isEqualTo(1500);
        assertThat(capacity.grown(1500, 9000)).isEqualTo(9000);
    }

    /** 91 lengths from 10 to 100 in rising order. */
    @Test
    void creepingNeed_costsFewBlocks() {
        long held = 0;
        int blocks = 0;
        for (long need = 1000; need <= 10000; need += 100) {
            long size = capacity.grown(held, need);
            blocks += size > held ? 1 : 0;
            held = size;
            assertThat(held).isBetween(need, need + need / 4);
        }
        assertThat(blocks).isLessThan(16);
    }

    @Test
    void outlier_isGivenBack_afterAPeriodWithoutNeed() {
        assertThat(capacity.kept(8000, 8000)).isEqualTo(8000);
        int regions = 1;
        while (capacity.kept(8000, 1000) == 8000) {
            regions++;
        }
        assertThat(regions).isBetween(PATIENCE, 2 * PATIENCE);
    }

    @Test
    void varyingNeed_keepsTheArena() {
        Random lengths = new Random(1);
        for (int i = 0; i < 20 * PATIENCE; i++) {
            assertThat(capacity.kept(10000, 100L * (10 + lengths.nextInt(91)))).isEqualTo(10000);
        }
    }

    @Test
    void patienceOfZero_isRefused() {
        assertThatThrownBy(() -> new ArenaCapacity(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("patience=0, expected at least 1");
    }
}
