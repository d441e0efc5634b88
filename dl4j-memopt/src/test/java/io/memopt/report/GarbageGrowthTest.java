// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GarbageGrowthTest {
    private final GarbageGrowth growth = new GarbageGrowth();

    @ParameterizedTest
    @ValueSource(ints = {4, 63, 64, 65, 1000})
    void perPass_whenEachPassLeavesTheSame_isThat(int passes) {
        for (int pass = 0; pass < passes; pass++) {
            growth.add(pass, 60);
            growth.add(pass, 40);
        }
        assertThat(growth.perPass(passes)).isEqualTo(100);
    }

    @Test
    void perPass_doesNotCountPassesWhoseArraysWereCollected() {
        for (int pass = 900; pass < 1000; pass++) {
            growth.add(pass, 100);
        }
        assertThat(growth.perPass(1000)).isEqualTo(100);
    }

    @Test
    void perPass_whenOnlyTheFirstPassesLeftAnything_isNothing() {
        growth.add(0, 1000);
        growth.add(1, 1000);
        assertThat(growth.perPass(100)).isZero();
    }

    @Test
    void perPass_ofFewPasses_orOfNone_isNotTold() {
        assertThat(growth.perPass(50)).isZero();
        growth.add(48, 100);
        growth.add(49, 100);
        assertThat(growth.perPass(50)).isZero();
    }
}
