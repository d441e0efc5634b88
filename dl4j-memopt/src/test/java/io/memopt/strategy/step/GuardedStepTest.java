// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.FailureMoment;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.listeners.training.MemoryListener;
import io.memopt.listeners.training.Trackers;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.memory.enums.DebugMode;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Memory runs out at one allocation after the other of an iteration, by failures planted in ND4J's native calls: nothing may be
 * half done. With every workspace array allocated by itself each site is a request of its own.
 */
class GuardedStepTest {
    private static final int WARM_UP = 2;

    private AllocationLimit limit;

    @BeforeEach
    void install() {
        MemoryHooks.install();
        limit = MemoryHooks.limit(AllocationLimit.NONE);
    }

    @AfterEach
    void uninstall() {
        Nd4j.getWorkspaceManager().setDebugMode(DebugMode.DISABLED);
        MemoryHooks.uninstall();
    }

    /** For whom the thread that made this allocates memory, in the order in which it does. */
    private static final class Owners implements EventSink {
        private final long thread = Thread.currentThread().getId();
        private final List<Integer> owners = new ArrayList<>();

        @Override
        public void accept(
                int code, long time, long its, int owner, int workspace, long address, long bytes, long extra) {
            if (its == thread
                    && EventCode.kind(code) == EventKind.ALLOCATE
                    && EventCode.allocation(code).ownsMemory()) {
                owners.add(owner);
            }
        }
    }

    /** Does everything again, and remembers what it was asked. */
    private static final class Again implements StepGuard {
        private final List<FailedStep> failed = new ArrayList<>();
        private final List<StepStage> afterUpdate = new ArrayList<>();
        private final int attempts;
        private final Owners redone = new Owners();

        Again(int attempts) {
            this.attempts = attempts;
        }

        @Override
        public boolean isExhaustion(Throwable failure) {
            for (Throwable each = failure; each != null; each = each.getCause()) {
                if (String.valueOf(each.getMessage()).contains("bad_alloc")) {
                    return true;
                }
            }
            return false;
        }

        @Override
        public Optional<StepOptions> failed(FailedStep step) {
            failed.add(step);
            redone.owners.clear();
            return step.attempt() <= attempts ? Optional.of(step.options()) : Optional.empty();
        }

        @Override
        public void failedAfterUpdate(FailedStep step) {
            afterUpdate.add(step.stage());
        }

        @Override
        public void succeeded(Model model, int attempts) {}

        @Override
        public StepGuard ofCopy() {
            return this;
        }
    }

    @ParameterizedTest
    @CsvSource({"LENET, 9", "VGG, 97", "LSTM_LAYERS, 97", "RESIDUAL_GRAPH, 61", "CONSTRAINED, 9", "TRUNCATED, 97"})
    void someSites_fail_nothingIsHalfDone(GuardedNetworks each, int stride) {
        sweep(each, stride);
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource
    void everySite_fails_nothingIsHalfDone(GuardedNetworks each) {
        int failures = sweep(each, 1);
        assertThat(failures).isGreaterThan(30);
    }

    /** Each {@code stride}-th site of an iteration, after two that do not fail. Returns the failures. */
    private int sweep(GuardedNetworks each, int stride) {
        Nd4j.getWorkspaceManager().setDebugMode(DebugMode.SPILL_EVERYTHING);
        Model model = each.create();
        Model plain = each.create();
        Again guard = new Again(1);
        int site = 1;
        int iteration = 0;
        int failures = -1;
        Set<String> layers = new HashSet<>();
        model.addListeners(new MemoryListener(Trackers.current()));
        try (TrainingSteps steps = TrainingSteps.begin(Trackers.current())) {
            steps.attach(model, StepOptions.PLAIN, guard);
            MemoryHooks.recording().ledger().addSink(guard.redone);
            while (guard.failed.size() > failures) {
                failures = guard.failed.size();
                DataSet data = each.data(iteration);
                Nd4j.getRandom().setStates(7, iteration + 1);
                GuardedNetworks.fit(plain, data);
                long root = Nd4j.getRandom().rootState();
                long node = Nd4j.getRandom().nodeState();
                Nd4j.getRandom().setStates(7, iteration + 1);
                limit.failRequest(iteration < WARM_UP ? 0 : site);
                GuardedNetworks.fit(model, data);
                limit.failRequest(0);
                assertSame(each + ", site " + site, model, plain);
                if (guard.failed.size() > failures && iteration >= WARM_UP && each != GuardedNetworks.TRUNCATED) {
                    layers.add(assertNamed(each + ", site " + site, guard, site));
                }
                assertThat(Nd4j.getRandom().rootState()).isEqualTo(root);
                assertThat(Nd4j.getRandom().nodeState()).isEqualTo(node);
                if (iteration++ < WARM_UP) {
                    failures = -1;
                } else {
                    site += stride;
                }
            }
        }
        assertThat(guard.failed).extracting(FailedStep::stage).contains(StepStage.GRADIENTS);
        assertThat(layers).as("layers named").hasSizeGreaterThan(each == GuardedNetworks.TRUNCATED ? -1 : 1);
        return failures;
    }

    /** The refusal is booked for whom the same request is booked when the iteration is done again. Returns the layer. */
    private static String assertNamed(String what, Again guard, int site) {
        MemoryLedger ledger = MemoryHooks.recording().ledger();
        List<FailureMoment> failures = ledger.failures();
        Owner named = failures.get(failures.size() - 1).owner();
        assertThat(named).as(what).isEqualTo(ledger.owners().ownerOf(guard.redone.owners.get(site - 1)));
        return named.layer();
    }

    static void assertSame(String what, Model model, Model plain) {
        assertThat(bits(model.params())).as(what).isEqualTo(bits(plain.params()));
        assertThat(bits(GuardedNetworks.updaterState(model)))
                .as(what)
                .isEqualTo(bits(GuardedNetworks.updaterState(plain)));
        assertThat(BaseOptimizer.getIterationCount(model)).as(what).isEqualTo(BaseOptimizer.getIterationCount(plain));
        assertThat(model.score()).as(what).isEqualTo(plain.score());
    }

    private static byte[] bits(INDArray array) {
        return array == null ? new byte[0] : array.data().asBytes();
    }

    @Test
    void firstIteration_failingInTheUpdater_beginsWithAFreshUpdater() {
        Nd4j.getWorkspaceManager().setDebugMode(DebugMode.SPILL_EVERYTHING);
        GuardedNetworks each = GuardedNetworks.LENET;
        Model plain = each.create();
        each.fit(plain, 0);
        DataSet data = each.data(0);
        long before = limit.requests();
        GuardedNetworks.fit(each.create(), data);
        long requests = limit.requests() - before;
        int inUpdate = 0;
        try (TrainingSteps steps = TrainingSteps.begin(Trackers.current())) {
            for (long site = requests; inUpdate == 0 && site > requests - 16; site--) {
                Again guard = new Again(1);
                Model model = each.create();
                steps.attach(model, StepOptions.PLAIN, guard);
                limit.failRequest(site);
                GuardedNetworks.fit(model, data);
                limit.failRequest(0);
                assertSame("site " + site, model, plain);
                inUpdate += guard.failed.stream().anyMatch(step -> step.stage() == StepStage.UPDATE) ? 1 : 0;
            }
        }
        assertThat(inUpdate).isPositive();
    }

    @Test
    void guardThatGivesUp_leavesTheStateOfBefore() {
        GuardedNetworks each = GuardedNetworks.VGG;
        Model model = each.create();
        Model plain = each.create();
        Nd4j.getRandom().setStates(7, 1);
        each.fit(model, 0);
        Nd4j.getRandom().setStates(7, 1);
        each.fit(plain, 0);
        Again guard = new Again(0);
        try (TrainingSteps steps = TrainingSteps.begin(Trackers.current())) {
            steps.attach(model, StepOptions.PLAIN, guard);
            Nd4j.getRandom().setStates(7, 1 + 1);
            Nd4j.getWorkspaceManager().setDebugMode(DebugMode.SPILL_EVERYTHING);
            DataSet data = each.data(1);
            limit.failRequest(15);
            assertThatThrownBy(() -> GuardedNetworks.fit(model, data)).hasStackTraceContaining("std::bad_alloc");
            limit.failRequest(0);
            Nd4j.getWorkspaceManager().setDebugMode(DebugMode.DISABLED);

            assertSame("after the failure", model, plain);
            Nd4j.getRandom().setStates(7, 1 + 1);
            each.fit(model, 1);
            Nd4j.getRandom().setStates(7, 1 + 1);
            each.fit(plain, 1);
            assertSame("after the next iteration", model, plain);
        }
        assertThat(guard.failed).hasSize(1);
    }

    @Test
    void attempts_areBounded() {
        GuardedNetworks each = GuardedNetworks.LENET;
        Model model = each.create();
        each.fit(model, 0);
        Again guard = new Again(Integer.MAX_VALUE);
        try (TrainingSteps steps = TrainingSteps.begin(Trackers.current())) {
            steps.attach(model, StepOptions.PLAIN, guard);
            DataSet data = each.data(1);
            limit.limit(limit.liveBytes());
            Nd4j.getWorkspaceManager().setDebugMode(DebugMode.SPILL_EVERYTHING);
            assertThatThrownBy(() -> GuardedNetworks.fit(model, data)).hasStackTraceContaining("std::bad_alloc");
        }
        assertThat(guard.failed).hasSize(GuardedRun.MAX_ATTEMPTS - 1);
    }

    @Test
    void listenerOutOfMemory_afterTheUpdate_doesNotUndoIt() {
        GuardedNetworks each = GuardedNetworks.LENET;
        Model model = each.create();
        Model plain = each.create();
        each.fit(plain, 0);
        model.addListeners(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model its, int iteration, int epoch) {
                throw new IllegalStateException("std::bad_alloc");
            }
        });
        Again guard = new Again(1);
        try (TrainingSteps steps = TrainingSteps.begin(Trackers.current())) {
            steps.attach(model, StepOptions.PLAIN, guard);
            assertThatThrownBy(() -> each.fit(model, 0)).hasMessage("std::bad_alloc");
        }
        assertSame("completed", model, plain);
        assertThat(guard.failed).isEmpty();
        assertThat(guard.afterUpdate).containsExactly(StepStage.UPDATED);
    }

    @Test
    void otherFailures_areNotTouched() {
        GuardedNetworks each = GuardedNetworks.LENET;
        Model model = each.create();
        model.addListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model its) {
                throw new IllegalStateException("planted");
            }
        });
        Again guard = new Again(1);
        try (TrainingSteps steps = TrainingSteps.begin(Trackers.current())) {
            steps.attach(model, StepOptions.PLAIN, guard);
            assertThatThrownBy(() -> each.fit(model, 0)).hasMessage("planted");
        }
        assertThat(guard.failed).isEmpty();
    }
}
