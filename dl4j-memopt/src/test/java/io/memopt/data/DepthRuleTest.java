// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DepthRuleTest {
    private final DepthRule rule = new DepthRule(16);

    @Test
    void depth_beforeTimesAreKnown_isTwo() {
        rule.prepared(1_000_000);

        assertThat(rule.depth()).isEqualTo(2);
    }

    @Test
    void depth_isWhatIsBegunWhileOneIsPrepared_andOneReady() {
        rule.prepared(700);
        rule.consumed(200);

        assertThat(rule.depth()).isEqualTo(1 + 4);
    }

    @Test
    void depth_followsTheSlowBatch_andForgetsItSlowly() {
        rule.consumed(100);
        rule.prepared(1000);
        for (int i = 0; i < 10; i++) {
            rule.prepared(100);
        }
        assertThat(rule.depth()).isEqualTo(1 + 9);

        for (int i = 0; i < 200; i++) {
            rule.prepared(100);
        }
        assertThat(rule.depth()).isEqualTo(2);
    }

    @Test
    void depth_ofAFastReader_isBounded() {
        rule.prepared(Long.MAX_VALUE / 2);
        rule.consumed(0);

        assertThat(rule.depth()).isEqualTo(16);
    }
}
