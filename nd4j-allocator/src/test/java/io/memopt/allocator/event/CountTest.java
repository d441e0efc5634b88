// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CountTest {
    @ParameterizedTest
    @CsvSource({
        "0, pass, 0 passes",
        "1, pass, 1 pass",
        "2, pass, 2 passes",
        "1, kind, 1 kind",
        "3, minibatch, 3 minibatches",
        "2, copy, 2 copies",
        "2, array, 2 arrays",
        "1, detached array, 1 detached array",
        "5, detached array, 5 detached arrays"
    })
    void of_numberAndNoun_agree(long number, String noun, String text) {
        assertThat(Count.of(number, noun)).isEqualTo(text);
    }

    @Test
    void was_andTimes_agreeToo() {
        assertThat(Count.was(1, "allocation")).isEqualTo("1 allocation was");
        assertThat(Count.was(0, "allocation")).isEqualTo("0 allocations were");
        assertThat(Count.times(1)).isEqualTo("once");
        assertThat(Count.times(2)).isEqualTo("2 times");
        assertThat(Count.grouped(1, "event")).isEqualTo("1 event");
        assertThat(Count.grouped(1234567, "event")).isEqualTo("1,234,567 events");
    }
}
