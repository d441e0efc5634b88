// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PassClockTest {
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 511, 512, 513, 5000, 100_000})
    void passesBefore_isExactToOnePartIn256(int passes) {
        PassClock clock = new PassClock();
        for (int pass = 1; pass <= passes; pass++) {
            clock.passEnded(10L * pass);
        }
        assertThat(clock.passes()).isEqualTo(passes);
        for (int pass = 0; pass <= passes; pass += 1 + passes / 50) {
            assertThat(clock.passesBefore(10L * pass + 5)).isBetween(pass - passes / 256L, (long) pass);
        }
    }
}
