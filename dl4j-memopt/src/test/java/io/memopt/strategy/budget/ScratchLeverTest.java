// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.allocator.cudnn.ScratchHooks;
import io.memopt.allocator.cudnn.SimulatedScratch;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.listeners.training.Trackers;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.SampleMinibatch;
import io.memopt.strategy.Untouched;
import io.memopt.strategy.cudnn.CudnnLayers;
import io.memopt.strategy.cudnn.NetworkScratch;
import io.memopt.strategy.cudnn.SimulatedConvolutions;
import io.memopt.strategy.precision.Precision;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.StepPass;
import io.memopt.testing.Networks;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.factory.Nd4j;

/** LeNet's two convolutions have inputs of 1x28x28 and 20x12x12, the second the larger. */
class ScratchLeverTest {
    private static final int BATCH = 8;
    private static final PassKind KIND = new PassKind(Keep.ALL, false, Caching.NONE, Precision.AS_CONFIGURED);
    private static final long MOST = 64;
    private static final long LEAST = 8;
    private static final long FIRST = 28 * 28;
    private static final long SECOND = 20 * 12 * 12;

    private final Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
    private final SimulatedScratch simulated = new SimulatedScratch(ScratchHooks.none(), MOST, LEAST);
    private final CudnnLayers layers = SimulatedConvolutions.layers(simulated);
    private MemOpt memopt;
    private NetworkScratch scratch;
    private PassMemory memory;
    private PassMemory without;

    @BeforeEach
    void record() {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        memopt = MemOpt.attach(model);
        layers.attach(model);
        scratch = layers.scratch(model).orElseThrow();
        scratch.limit(0);
        NetworkAccess.flatGradients(model);
        SampleMinibatch.with(
                model,
                Networks.LENET.data(PassMemory.HIGH, 0).toMultiDataSet(),
                () -> Untouched.by(model, () -> {
                    HeldMinibatch held = HeldMinibatch.of(model);
                    record(held, Optional.empty());
                    memory = record(held, Optional.of(scratch)).orElseThrow();
                    without = record(held, Optional.empty()).orElseThrow();
                    held.restore();
                }));
    }

    @AfterEach
    void close() {
        memopt.close();
        layers.close();
    }

    private Optional<PassMemory> record(HeldMinibatch held, Optional<NetworkScratch> listening) {
        try (StepPass pass = new StepPass(model, KIND.step(StepOptions.PLAIN), Trackers.current())) {
            return PassMemory.record(MemoryHooks.recording(), listening, batch -> {
                held.give(0, batch);
                pass.compute();
                Trackers.current().passEnded(model);
            });
        }
    }

    private ScratchLever lever() {
        return new ScratchLever(scratch, List.of(memory), BATCH);
    }

    private void measure() {
        scratch.limit(NetworkScratch.UNLIMITED);
        scratch.measure(memory.scratchCalls().stream()
                .map(call -> call.over(BATCH))
                .distinct()
                .toList());
    }

    @Test
    void levels_areWhatPassesTake() {
        measure();

        long most = BATCH * SECOND * MOST;
        assertThat(lever().limits()).containsExactly(most, most / 2, BATCH * FIRST * MOST / 2, BATCH * SECOND * LEAST);
        assertThat(lever().besideBytes(memory, Reuse.RELEASED, BATCH, most)).isEqualTo(most);
        assertThat(lever().besideBytes(memory, Reuse.PLANNED, BATCH, most))
                .as("lent by the arena, but for a pass that is not foreseen")
                .isGreaterThanOrEqualTo(BATCH * SECOND * LEAST);
    }

    /** Both convolutions take, forward and for gradients of weights, 6 in place of 2; the first needs no gradient of its input. */
    @Test
    void lessScratch_takesLonger_inProportionToExamples() {
        measure();

        long least = BATCH * SECOND * LEAST;
        double whole = lever().extraNanos(least, BATCH);
        assertThat(whole).isGreaterThanOrEqualTo(4 * BATCH * (2 * FIRST + 3 * SECOND));
        assertThat(lever().extraNanos(least, 2 * BATCH)).isEqualTo(2 * whole);
        assertThat(lever().extraNanos(least, BATCH / 4)).isEqualTo(whole / 4);
        assertThat(lever().extraNanos(BATCH * SECOND * MOST, BATCH)).isZero();
    }

    /** Ways that were found under a limit of 0 are forgotten when that is raised. */
    @Test
    void convolutionsThatWereNotMeasured_takeWhatALimitAllows() {
        scratch.limit(1 << 20);

        long least = BATCH * SECOND * LEAST;
        assertThat(lever().limits()).containsExactly(least);
        assertThat(lever().besideBytes(memory, Reuse.RELEASED, BATCH, least)).isEqualTo(least);

        scratch.measure(memory.scratchCalls().stream()
                .map(call -> call.over(BATCH))
                .filter(shape -> shape.inputItem() == FIRST)
                .distinct()
                .toList());
        long measured = BATCH * FIRST * MOST;
        assertThat(lever().limits()).startsWith(measured);
        assertThat(lever().besideBytes(memory, Reuse.RELEASED, BATCH, measured)).isEqualTo(measured);
    }

    @Test
    void whatAPassCannotDoWithout_isPartOfWhatItTakes() {
        PriceList.Fixed fixed = new PriceList.Fixed(BATCH, FlatBytes.of(model), 0, 0, 0, 0, false, false, false, false);

        assertThat(memory.leastScratchBytes(BATCH)).isEqualTo(BATCH * SECOND * LEAST);
        assertThat(fixed.takesWhole(KIND, memory) - fixed.takesWhole(KIND, without))
                .isEqualTo(BATCH * SECOND * LEAST);
        assertThat(fixed.takesTrial(memory) - fixed.takesTrial(without)).isEqualTo(PassMemory.HIGH * SECOND * LEAST);
    }
}
