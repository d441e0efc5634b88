// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.memopt.MemOpt;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.analysis.Exactness;
import io.memopt.testing.Networks;
import java.util.concurrent.atomic.AtomicInteger;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class TwinRunTest {
    /** Behind the 20 biases of the first layer, which begin as zeros. */
    private static final int WEIGHT = 30;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void observation_ofEveryFamily_isBitwise(Networks family) {
        TwinResult result = twins(family).compare(MemOpt::attach);

        assertThat(result.requireBitwise().met(0)).isEqualTo(Exactness.BITWISE);
        assertThat(result.plain().isBitwise()).isTrue();
        assertThat(result.attached()).hasToString("equal bit for bit");
    }

    @Test
    void networks_thatStartElsewhere_areTrainedFromTheFirstOnesState() {
        AtomicInteger made = new AtomicInteger();

        TwinResult result = TwinRun.of(
                        () -> {
                            MultiLayerNetwork network =
                                    (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
                            network.params().addi(made.getAndIncrement() * 0.01);
                            return network;
                        },
                        i -> Networks.LENET.data(4, i))
                .iterations(3)
                .compare(model -> () -> {});

        assertThat(made).hasValue(3);
        assertThat(result.plain().isBitwise()).isTrue();
        assertThat(result.attached().isBitwise()).isTrue();
    }

    @Test
    void smallChange_isReordered_largeOneIsLossy() {
        TwinResult result = twins(Networks.LENET).compare(model -> {
            INDArray parameters = model.params();
            parameters.putScalar(WEIGHT, Math.nextUp(parameters.getFloat(WEIGHT)));
            return () -> {};
        });

        assertThat(result.attached().differing()).isPositive();
        assertThat(result.attached().largest()).isPositive().isLessThan(0.01);
        assertThat(result.met(0.01)).isEqualTo(Exactness.REORDERED);
        assertThat(result.met(1e-12)).isEqualTo(Exactness.LOSSY);
        assertThat(result.require(Exactness.REORDERED, 0.01)).isSameAs(result);
        assertThat(result.require(Exactness.LOSSY, 0)).isSameAs(result);
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(result::requireBitwise)
                .withMessageContaining("After 4 iterations the run met LOSSY, promised was BITWISE")
                .withMessageContaining("attached to plain: ")
                .withMessageContaining("plain to plain:    equal bit for bit")
                .withMessageContaining("switch it off");
    }

    @Test
    void plainTraining_thatDoesNotRepeatItself_isSaidToBeTheReason() {
        AtomicInteger call = new AtomicInteger();

        TwinResult result = TwinRun.of(
                        () -> Networks.LENET.create(WorkspaceMode.ENABLED),
                        i -> Networks.LENET.data(4, call.getAndIncrement()))
                .iterations(2)
                .compare(model -> () -> {});

        assertThat(result.plain().isBitwise()).isFalse();
        assertThat(result.plain().firstIteration()).isZero();
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(result::requireBitwise)
                .withMessageContaining("Plain training does not repeat itself either");
    }

    @Test
    void notANumber_differsInfinitely() {
        TwinResult result = twins(Networks.LENET).compare(model -> {
            model.params().putScalar(0, Float.NaN);
            return () -> {};
        });

        assertThat(result.attached().parameters()).isInfinite();
        assertThat(result.met(1e30)).isEqualTo(Exactness.LOSSY);
    }

    @Test
    void failure_namesTheRunAndTheIteration() {
        assertThatIllegalStateException()
                .isThrownBy(() -> twins(Networks.LENET).compare(model -> {
                    throw new UnsupportedOperationException("not on this backend");
                }))
                .withMessage("The run with the attachment failed before its first iteration:"
                        + " java.lang.UnsupportedOperationException: not on this backend");
        assertThatIllegalStateException()
                .isThrownBy(() -> TwinRun.of(
                                () -> Networks.mlp(2, 2, 2),
                                (model, i) -> Nd4j.ones(2).mmul(Nd4j.ones(3, 3)))
                        .compare(model -> () -> {}))
                .withMessageStartingWith("The first plain run failed in iteration 0: ");
        assertThatIllegalStateException()
                .isThrownBy(() -> TwinRun.of(() -> Networks.mlp(2, 2, 2), (model, i) -> {})
                        .compare(model -> () -> {}))
                .withMessageStartingWith("No parameter changed in 10 iterations");
        AtomicInteger size = new AtomicInteger(2);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> TwinRun.of(
                                () -> Networks.mlp(2, size.getAndIncrement(), 2),
                                (model, i) -> model.params().addi(1))
                        .compare(model -> () -> {}))
                .withMessageContaining("expected the same shape each time");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> twins(Networks.LENET).iterations(0))
                .withMessageContaining("iterations=0");
    }

    private static TwinRun twins(Networks family) {
        return TwinRun.of(() -> family.create(WorkspaceMode.ENABLED), i -> family.data(4, i))
                .iterations(4);
    }
}
