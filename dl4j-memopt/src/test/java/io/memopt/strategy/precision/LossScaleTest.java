// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.precision;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LossScaleTest {

    @Test
    void learn_ofNoNumbers_halvesDownToTheLeast() {
        LossScale scale = new LossScale();

        scale.learn(false);
        assertThat(scale.value()).isEqualTo(LossScale.FIRST / 2);
        for (int i = 0; i < 100; i++) {
            scale.learn(false);
        }

        assertThat(scale.value()).isEqualTo(LossScale.LEAST);
    }

    @Test
    void learn_ofManyNumbersInARow_doublesUpToTheMost() {
        LossScale scale = new LossScale();
        for (int i = 1; i < LossScale.GROWS_AFTER; i++) {
            scale.learn(true);
        }
        assertThat(scale.value()).isEqualTo(LossScale.FIRST);

        scale.learn(true);
        assertThat(scale.value()).isEqualTo(2 * LossScale.FIRST);
        for (int i = 0; i < 100 * LossScale.GROWS_AFTER; i++) {
            scale.learn(true);
        }

        assertThat(scale.value()).isEqualTo(LossScale.MOST);
    }

    @Test
    void learn_ofNoNumbers_beginsToCountAnew() {
        LossScale scale = new LossScale();
        for (int i = 1; i < LossScale.GROWS_AFTER; i++) {
            scale.learn(true);
        }

        scale.learn(false);
        scale.learn(true);

        assertThat(scale.value()).isEqualTo(LossScale.FIRST / 2);
    }
}
