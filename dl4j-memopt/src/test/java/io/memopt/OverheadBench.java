// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.testing.Networks;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Prints {@link StepCost}'s tables. Run by {@code mvn -Pbench}; no assertion on time. */
@Tag("bench")
class OverheadBench {
    private static final int ROUNDS = Integer.getInteger("bench.rounds", 15);

    @ParameterizedTest
    @CsvSource({"LENET,64", "RESIDUAL_GRAPH,16", "LSTM_TEXT,16", "VGG,16"})
    void step_plainAgainstRecorded(Networks family, int batch) {
        assertThat(new StepCost(ROUNDS).measure(family, batch)).isPositive();
    }
}
