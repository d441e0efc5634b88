// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static io.memopt.verify.MemoryAssertions.assertThatMemory;
import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.Reuse;
import io.memopt.verify.MemoryFigures;
import io.memopt.verify.TwinRun;
import java.util.Locale;
import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.factory.Nd4j;

/** What releasing saves on networks of a real size; some minutes. */
@Tag("soak")
class ReleasedGarbageTest {
    private static final int ITERATIONS = 14;
    private static final double MB = 1e6;

    @BeforeEach
    @AfterEach
    void uninstall() {
        Nd4j.getBackend();
        MemoryHooks.uninstall();
    }

    /** Garbage of an iteration in bytes: two arrays of each normalised value. */
    @ParameterizedTest
    @CsvSource({"VGG_LIKE, 29360128", "RESNET50, 19726336"})
    void training_leavesNothing_whilePlainLeavesTwoArraysOfEachNormalisation(ReferenceNetworks network, long garbage) {
        MemoryFigures plain = figures(network, network.create());
        Model model = network.create();
        try (MemOpt memopt = MemOpt.attach(model, config(Reuse.RELEASED))) {
            MemoryFigures released = figures(network, model);

            System.out.printf(
                    Locale.ROOT,
                    "%s: garbage %.2f -> %.3f MB an iteration, reserved peak %.1f -> %.1f MB in %d iterations, released %.1f MB%n",
                    network,
                    plain.garbageBytes() / MB,
                    released.garbageBytes() / MB,
                    plain.peakBytes() / MB,
                    released.peakBytes() / MB,
                    ITERATIONS,
                    memopt.summary().releasedBytes() / MB);
            assertThat(plain.garbageBytes()).isBetween(garbage, garbage + (64 << 10));
            assertThat(released.garbageBytes()).isLessThan(64 << 10);
            assertThat(memopt.summary().releasedBytes()).isEqualTo(ITERATIONS * garbage);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = ReferenceNetworks.class,
            names = {"VGG_LIKE", "RESNET50"})
    void training_releasedAndPlanned_equalsPlainBitForBit(ReferenceNetworks network) {
        TwinRun.of(network::create, network::data)
                .iterations(6)
                .compare(model -> MemOpt.attach(model, config(Reuse.PLANNED)))
                .requireBitwise();
    }

    private static MemoryFigures figures(ReferenceNetworks network, Model model) {
        return assertThatMemory(model)
                .withWarmup(ITERATIONS - 4)
                .whileFitting(network.data(1), ITERATIONS)
                .figures();
    }

    private static MemOptConfig config(Reuse reuse) {
        return MemOptConfig.builder().reuse(reuse).build();
    }
}
