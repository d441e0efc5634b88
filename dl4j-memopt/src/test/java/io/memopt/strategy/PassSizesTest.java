// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class PassSizesTest {
    private static final int PATIENCE = 20;
    private static final long MIB = 1 << 20;

    private final PassSizes sizes = new PassSizes(PATIENCE);

    @Test
    void nothingSeen_isZero() {
        assertThat(sizes.room(training(8, 10))).isZero();
    }

    @Test
    void seen_isExact_andTheMostOfAll() {
        sizes.needed(training(8, 10), 5 * MIB);
        sizes.needed(training(8, 10), 3 * MIB);
        assertThat(sizes.room(training(8, 10))).isEqualTo(5 * MIB);
        assertThat(sizes.recent()).containsExactly(Map.entry(training(8, 10), 5 * MIB));
    }

    @Test
    void otherBatch_followsFromTwo_withALittleRoom() {
        sizes.needed(training(2, 10), 3 * MIB);
        assertThat(sizes.room(training(32, 10))).isZero();
        sizes.needed(training(3, 10), 4 * MIB);
        assertThat(sizes.room(training(32, 10))).isBetween(33 * MIB, 33 * MIB + 33 * MIB / 200 + 4096);
        assertThat(sizes.room(training(1, 10))).isZero();
    }

    @Test
    void otherLength_hasRoomForTheLongestSeen_ofItsBatch() {
        sizes.needed(training(8, 10), 5 * MIB);
        sizes.needed(training(8, 40), 20 * MIB);
        sizes.needed(training(64, 40), 160 * MIB);
        assertThat(sizes.room(training(8, 25))).isEqualTo(20 * MIB);
        assertThat(sizes.room(training(8, 10))).isEqualTo(20 * MIB);
    }

    /** As after a rehearsal with the longest sequence. */
    @Test
    void otherLengthAndBatch_hasRoomForTheLine() {
        sizes.needed(training(2, 40), 3 * MIB);
        sizes.needed(training(3, 40), 4 * MIB);
        assertThat(sizes.room(training(16, 7))).isBetween(17 * MIB, 18 * MIB);
    }

    @Test
    void outlier_isForgotten_whenItsKindHasNotNeededItForLong() {
        sizes.needed(training(8, 400), 200 * MIB);
        for (int i = 0; i < PATIENCE - 1; i++) {
            sizes.needed(training(8, 10), 5 * MIB);
        }
        assertThat(sizes.room(training(8, 10))).isEqualTo(200 * MIB);
        for (int i = 0; i < PATIENCE / 8 + 1; i++) {
            sizes.needed(training(8, 10), 5 * MIB);
        }
        assertThat(sizes.room(training(8, 10))).isEqualTo(5 * MIB);
        assertThat(sizes.recent()).containsOnlyKeys(training(8, 10));
        assertThat(sizes.room(training(8, 400))).isEqualTo(200 * MIB);
    }

    @Test
    void inference_learnsFromItsOwnMethodOnly_butFromAllItsLayers() {
        sizes.needed(training(8, 10), 5 * MIB);
        sizes.needed(inference("l0", "output"), MIB);
        sizes.needed(inference("l1", "output"), 2 * MIB);
        assertThat(sizes.room(inference("l0", "output"))).isEqualTo(2 * MIB);
        assertThat(sizes.room(inference("l0", "score"))).isZero();
    }

    @Test
    void manyPasses_areBounded() {
        PassSizes patient = new PassSizes(10 * PassSizes.MAX_PASSES);
        for (int i = 0; i < 3 * PassSizes.MAX_PASSES; i++) {
            patient.needed(training(8, i), MIB);
        }
        assertThat(patient.recent())
                .hasSize(PassSizes.MAX_PASSES)
                .containsKey(training(8, 3 * PassSizes.MAX_PASSES - 1));
    }

    private static RegionKey training(int batch, int length) {
        return new RegionKey(RegionKey.PASS, batch, "[8, " + length + "]", RegionKey.PASS, 64, false);
    }

    private static RegionKey inference(String layer, String method) {
        return new RegionKey(
                "WS_LAYER_ACT_0@INFERENCE:" + layer + " in " + method, 8, "[8]", "WS_LAYER_ACT_0", 64, false);
    }
}
