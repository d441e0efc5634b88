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
    void training_observedOrChecked_equalsPlainBitForBit(Networks family, WorkspaceMode mode) {
        for (MemOptConfig config : List.of(
                MemOptConfig.defaults(), MemOptConfig.builder().scopeCheck(true).build())) {
            TwinResult result = TwinRun.of(() -> family.create(mode), i -> family.data(4, i))
                    .iterations(ITERATIONS)
                    .compare(model -> observe(model, config));

            result.requireBitwise();
            assertThat(result.plain().isBitwise()).isTrue();
        }
    }

    private static AutoCloseable observe(Model model, MemOptConfig config) {
        assertThat(MemoryHooks.installed()).isFalse();
        MemOpt memopt = MemOpt.attach(model, config);
        return () -> {
            assertThat(memopt.summary().events()).isGreaterThan(ITERATIONS);
            assertThat(memopt.scopeFindings()).isEmpty();
            memopt.close();
        };
    }
}
