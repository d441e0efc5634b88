// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import io.memopt.verify.TwinResult;
import io.memopt.verify.TwinRun;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.factory.Nd4j;

/** Observation, recorded uses and scope check change no bit of training: parameters, updater state and every score. */
class BitwiseTest {
    private static final int ITERATIONS = 30;
    private static final int CHECKED_ITERATIONS = 6;

    static List<Arguments> everyFamilyAndMode() {
        List<Arguments> cases = new ArrayList<>();
        for (Networks family : Networks.values()) {
            cases.add(Arguments.of(family, WorkspaceMode.ENABLED));
            cases.add(Arguments.of(family, WorkspaceMode.NONE));
        }
        return cases;
    }

    /** The plain runs are to be plain, and ND4J's start would put the hooks in. */
    @BeforeEach
    @AfterEach
    void uninstall() {
        Nd4j.getBackend();
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @MethodSource("everyFamilyAndMode")
    void training_observed_equalsPlainBitForBit(Networks family, WorkspaceMode mode) {
        requireBitwise(family, mode, MemOptConfig.defaults(), ITERATIONS);
    }

    /** Fewer iterations: every element read is checked, which takes its time. */
    @ParameterizedTest
    @MethodSource("everyFamilyAndMode")
    void training_checked_equalsPlainBitForBit(Networks family, WorkspaceMode mode) {
        requireBitwise(family, mode, MemOptConfig.builder().scopeCheck(true).build(), CHECKED_ITERATIONS);
    }

    private static void requireBitwise(Networks family, WorkspaceMode mode, MemOptConfig config, int iterations) {
        TwinResult result = TwinRun.of(() -> family.create(mode), i -> family.data(4, i))
                .iterations(iterations)
                .compare(model -> observe(model, config, iterations));

        result.requireBitwise();
        assertThat(result.plain().isBitwise()).isTrue();
    }

    private static AutoCloseable observe(Model model, MemOptConfig config, int iterations) {
        assertThat(MemoryHooks.installed()).isFalse();
        MemOpt memopt = MemOpt.attach(model, config);
        return () -> {
            assertThat(memopt.summary().events()).isGreaterThan(iterations);
            assertThat(memopt.scopeFindings()).isEmpty();
            memopt.close();
        };
    }
}
