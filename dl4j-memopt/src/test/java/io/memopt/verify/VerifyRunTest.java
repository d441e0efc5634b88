// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.analysis.Exactness;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.DataSet;

class VerifyRunTest {
    private static final int BATCH = 8;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void plannedWorkspaces_areBitwiseAndSmaller_andTheNetworkIsOnlyRead() {
        Model network = Networks.VGG.create(WorkspaceMode.ENABLED);
        Networks.fit(network, Networks.VGG.data(BATCH, 9)); // updater state that the copies must have
        float[] before = network.params().dup().data().asFloat();
        MemOptConfig config = MemOptConfig.builder().reuse(Reuse.PLANNED).build();

        Verification result = VerifyRun.of(network, VerifyRunTest::batch)
                .iterations(6)
                .compare(model -> MemOpt.attach(model, config));

        result.requireBitwise().requirePeakAtMost("95 %");
        assertThat(result.twin().plain().isBitwise()).isTrue();
        assertThat(result.blocks()).isNotEmpty().allMatch(block -> block.differing() == 0);
        assertThat(result.blocks().stream()
                        .mapToLong(BlockDifference::parameters)
                        .sum())
                .isEqualTo(network.numParams());
        assertThat(result.bare().stepMillis()).isPositive();
        assertThat(result.overheadShare()).isFinite();
        assertThat(result.environment())
                .containsKeys("hardware", "java", "nd4j", "network")
                .containsEntry("batch", "8")
                .containsEntry("features", "[8, 3, 16, 16]");
        assertThat(network.params().dup().data().asFloat()).isEqualTo(before);
        assertThat(result.toString()).contains("equal bit for bit").contains("peak MiB");
    }

    @Test
    void plainAgainstPlain_hasTheSamePeak() {
        Verification result = VerifyRun.of(() -> Networks.LSTM_TEXT.create(WorkspaceMode.ENABLED), VerifyRunTest::text)
                .iterations(5)
                .compare(MemOpt::attach);

        result.requireBitwise();
        assertThat(result.peakShare()).isCloseTo(1, within(0.02));
    }

    @Test
    void parts_areNotBitwise_andTheBlocksSayWhere() {
        MemOptConfig config = MemOptConfig.builder().microBatch(3).build();

        Verification result = VerifyRun.of(() -> Networks.LSTM_TEXT.create(WorkspaceMode.ENABLED), VerifyRunTest::text)
                .iterations(5)
                .compare(model -> MemOpt.attach(model, config));

        result.require(Exactness.REORDERED, 1e-4);
        assertThat(result.blocks()).anyMatch(block -> block.differing() > 0 && block.largest() > 0);
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(result::requireBitwise)
                .withMessageContaining("promised was BITWISE")
                .withMessageContaining("differ, at most by");
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(() -> result.requirePeakAtMost("1 KiB"))
                .withMessageContaining("expected at most 1.0 KiB");
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(() -> result.requireStepAtMost("1 %"))
                .withMessageContaining("expected at most 1 %");
    }

    @Test
    void tooFewIterations_areRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> VerifyRun.of(() -> Networks.LSTM_TEXT.create(WorkspaceMode.ENABLED), VerifyRunTest::text)
                                .iterations(3))
                .withMessageContaining("iterations=3");
    }

    private static DataSet batch(int iteration) {
        return Networks.VGG.data(BATCH, iteration);
    }

    /** Sequences of one length. */
    private static DataSet text(int iteration) {
        return Networks.sequences(BATCH, 6, iteration);
    }
}
