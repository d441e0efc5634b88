// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LatestPassesTest {
    private final LatestPasses<Integer> passes = new LatestPasses<>(arrays -> arrays);

    private static RegionKey key(String pass) {
        return new RegionKey(pass, 2, "", "WS", 8, false);
    }

    /** Zoo ResNet50 has some 190 vertices, of which each is a pass of a score. */
    @Test
    void manySmallPasses_leaveTheLargeOne() {
        passes.put(key("training"), 2000);
        for (int vertex = 0; vertex < 1000; vertex++) {
            passes.put(key("vertex " + vertex), 4);
        }
        assertThat(passes.copy()).containsKey(key("training")).hasSize(1001);
    }

    @Test
    void arraysBeyondTheBound_theOldestGivesWay() {
        int third = LatestPasses.MAX_ARRAYS / 3 - LatestPasses.PASS_ARRAYS;
        passes.put(key("a"), third);
        passes.put(key("b"), third);
        passes.put(key("c"), third);
        assertThat(passes.computeIfAbsent(key("a"), fresh -> -1)).isEqualTo(third);
        passes.put(key("d"), third);
        assertThat(passes.copy().keySet()).containsExactly(key("c"), key("a"), key("d"));
    }

    @Test
    void onePassBeyondTheBound_stays() {
        passes.put(key("a"), 1);
        passes.put(key("b"), 2 * LatestPasses.MAX_ARRAYS);
        assertThat(passes.values()).containsExactly(2 * LatestPasses.MAX_ARRAYS);
    }

    @Test
    void passesWithoutArrays_areBoundedToo() {
        for (int pass = 0; pass < 10_000; pass++) {
            passes.put(key("pass " + pass), 0);
        }
        assertThat(passes.values()).hasSizeLessThanOrEqualTo(LatestPasses.MAX_ARRAYS / LatestPasses.PASS_ARRAYS);
    }
}
