// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.FailureMoment;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.listeners.training.MemoryListener;
import io.memopt.listeners.training.Trackers;
import io.memopt.strategy.offload.Offload;
import io.memopt.strategy.offload.SimulatedLanes;
import io.memopt.strategy.precision.Precision;
import java.nio.file.Path;
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
import org.junit.jupiter.api.io.TempDir;
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
    /** Of each family in the long runs. */
    private static final int FAILURES = 100;

    private static final StepOptions MIXED = StepOptions.PLAIN.withPrecision(Precision.MIXED_HALF);
    private static final StepOptions HOST = StepOptions.PLAIN
            .withStateOffload(Offload.HOST)
            .withActivationShare(0)
            .withOutputOffload(Offload.HOST);

    @TempDir
    Path folder;

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
        private int refusedAt;
        private int refused;

        /** An iteration begins. */
        void begin() {
            owners.clear();
            refusedAt = -1;
        }

        /** It begins again. */
        void again() {
            owners.clear();
        }

        @Override
        public void accept(
                int code, long time, long its, int owner, int workspace, long address, long bytes, long extra) {
            if (its != thread) {
                return;
            }
            if (EventCode.kind(code) == EventKind.ALLOCATE
                    && EventCode.allocation(code).ownsMemory()) {
                owners.add(owner);
            } else if (EventCode.kind(code) == EventKind.ALLOCATION_FAILURE && refusedAt < 0) {
                refusedAt = owners.size();
                refused = owner;
            }
        }
    }

    /** Does everything again, and remembers what it was asked. */
    private static final class Again implements StepGuard {
        private final List<FailedStep> failed = new ArrayList<>();
        private final List<StepStage> afterUpdate = new ArrayList<>();
        private final int attempts;
        private final Owners redone = new Owners();
        private Runnable onFailure = () -> {};

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
            redone.again();
            onFailure.run();
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
        sweep(each, StepOptions.PLAIN, stride, 1);
    }

    @ParameterizedTest
    @CsvSource({"LENET, 23", "RESIDUAL_GRAPH, 97"})
    void someSites_failInMixedPrecision_nothingIsHalfDone(GuardedNetworks each, int stride) {
        sweep(each, MIXED, stride, 1);
    }

    @ParameterizedTest
    @CsvSource({"LENET, 23", "RESIDUAL_GRAPH, 97"})
    void someSites_failWhileOffloading_nothingIsHalfDone(GuardedNetworks each, int stride) {
        sweep(each, offloaded(), stride, 1);
    }

    @ParameterizedTest
    @CsvSource({"LENET, 23", "RESIDUAL_GRAPH, 97"})
    void someSites_failWhileOffloadingToTheHost_nothingIsHalfDone(GuardedNetworks each, int stride) {
        onHost(() -> sweep(each, HOST, stride, 1));
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource(
            value = GuardedNetworks.class,
            names = {"LENET", "VGG", "LSTM_LAYERS", "RESIDUAL_GRAPH", "CONSTRAINED"})
    void everySite_failsWhileOffloadingToTheHost_nothingIsHalfDone(GuardedNetworks each) {
        onHost(() -> print(each, "every site while offloading to the host", sweep(each, HOST, 1, FAILURES)));
    }

    /** With copies that are made no earlier than somebody waits for them. */
    private static void onHost(Runnable sweeps) {
        try (SimulatedLanes.Installed device = SimulatedLanes.install(SimulatedLanes.Pace.LATEST)) {
            sweeps.run();

            assertThat(device.lanes().figures().toHostCopies()).isPositive();
        }
    }

    /** Every site once, and again until a hundred failed. */
    @Tag("soak")
    @ParameterizedTest
    @EnumSource
    void everySite_fails_nothingIsHalfDone(GuardedNetworks each) {
        print(each, "every site", sweep(each, StepOptions.PLAIN, 1, FAILURES));
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource(
            value = GuardedNetworks.class,
            names = {"LENET", "VGG", "LSTM_LAYERS", "RESIDUAL_GRAPH", "CONSTRAINED"})
    void everySite_failsInMixedPrecision_nothingIsHalfDone(GuardedNetworks each) {
        print(each, "every site in mixed precision", sweep(each, MIXED, 1, FAILURES));
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource(
            value = GuardedNetworks.class,
            names = {"LENET", "VGG", "LSTM_LAYERS", "RESIDUAL_GRAPH", "CONSTRAINED"})
    void everySite_failsWhileOffloading_nothingIsHalfDone(GuardedNetworks each) {
        print(each, "every site while offloading", sweep(each, offloaded(), 1, FAILURES));
    }

    @ParameterizedTest
    @CsvSource({"LENET, 5", "RESIDUAL_GRAPH, 5"})
    void someLimits_areMet_nothingIsHalfDone(GuardedNetworks each, int levels) {
        limits(each, levels);
    }

    /** An exact limit on live bytes, which rises from what is held before an iteration to what it needs. */
    @Tag("soak")
    @ParameterizedTest
    @EnumSource(
            value = GuardedNetworks.class,
            names = {"LENET", "VGG", "LSTM_LAYERS", "RESIDUAL_GRAPH", "CONSTRAINED"})
    void hundredLimits_areMet_nothingIsHalfDone(GuardedNetworks each) {
        print(each, "exact limits", limits(each, FAILURES));
    }

    private static void print(GuardedNetworks each, String what, int failures) {
        System.out.println(each + ", " + what + ": " + failures + " failures");
        assertThat(failures).isGreaterThanOrEqualTo(FAILURES);
    }

    private StepOptions offloaded() {
        return StepOptions.PLAIN
                .withStateOffload(Offload.files(folder))
                .withActivationShare(0)
                .withOutputOffload(Offload.files(folder));
    }

    /** A network whose iterations fail, and one that is trained in the same way without failures. */
    private final class Twins {
        private final GuardedNetworks each;
        private final Again guard = new Again(1);
        private final Model model;
        private final Model plain;
        private int iteration;

        private Twins(GuardedNetworks each, StepOptions options, TrainingSteps steps) {
            this.each = each;
            this.model = each.create();
            this.plain = each.create();
            model.addListeners(new MemoryListener(Trackers.current()));
            steps.attach(model, options, guard);
            if (!options.equals(StepOptions.PLAIN)) {
                plain.addListeners(new MemoryListener(Trackers.current()));
                steps.attach(plain, options);
            }
            MemoryHooks.recording().ledger().addSink(guard.redone);
        }

        /** One iteration of both, that of the first amid {@code failing}; whether it failed. Both are the same then. */
        private boolean step(String what, Runnable failing) {
            DataSet data = each.data(iteration++);
            int before = guard.failed.size();
            Nd4j.getRandom().setStates(7, iteration);
            GuardedNetworks.fit(plain, data);
            long root = Nd4j.getRandom().rootState();
            long node = Nd4j.getRandom().nodeState();
            Nd4j.getRandom().setStates(7, iteration);
            guard.redone.begin();
            failing.run();
            GuardedNetworks.fit(model, data);
            limit.failRequest(0);
            limit.limit(AllocationLimit.NONE);
            assertSame(what, model, plain);
            assertThat(Nd4j.getRandom().rootState()).isEqualTo(root);
            assertThat(Nd4j.getRandom().nodeState()).isEqualTo(node);
            return guard.failed.size() > before;
        }
    }

    /** Each {@code stride}-th site of an iteration, and all again until {@code least} failed. Returns the failures. */
    private int sweep(GuardedNetworks each, StepOptions options, int stride, int least) {
        Nd4j.getWorkspaceManager().setDebugMode(DebugMode.SPILL_EVERYTHING);
        boolean named = each != GuardedNetworks.TRUNCATED;
        Set<String> layers = new HashSet<>();
        int failures = 0;
        try (TrainingSteps steps = TrainingSteps.begin(Trackers.current())) {
            Twins twins = new Twins(each, options, steps);
            for (int i = 0; i < WARM_UP; i++) {
                twins.step(each + ", warm-up", () -> {});
            }
            boolean failed = true;
            for (int site = 1; failed || failures < least; site = failed ? site + stride : 1) {
                int failing = site;
                String what = each + ", site " + site;
                failed = twins.step(what, () -> limit.failRequest(failing));
                failures += failed ? 1 : 0;
                if (failed && named) {
                    layers.add(assertNamed(what, twins.guard, site));
                }
            }
            assertThat(twins.guard.failed).extracting(FailedStep::stage).contains(StepStage.GRADIENTS);
        }
        assertThat(layers).as("layers named").hasSizeGreaterThan(named ? 1 : -1);
        return failures;
    }

    /** Iterations with limits until {@code least} of them failed. Returns the failures. */
    private int limits(GuardedNetworks each, int least) {
        Nd4j.getWorkspaceManager().setDebugMode(DebugMode.SPILL_EVERYTHING);
        Set<String> layers = new HashSet<>();
        int failures = 0;
        try (TrainingSteps steps = TrainingSteps.begin(Trackers.current())) {
            Twins twins = new Twins(each, StepOptions.PLAIN, steps);
            twins.guard.onFailure = () -> limit.limit(AllocationLimit.NONE);
            PeakWindow window = MemoryHooks.recording().ledger().openPeakWindow();
            long needed = 0;
            for (int i = 0; i < WARM_UP; i++) {
                long before = limit.liveBytes();
                window.take();
                twins.step(each + ", warm-up", () -> {});
                needed = window.take().reservedBytes(MemorySpace.HOST) - before;
            }
            window.close();
            assertThat(needed).isPositive();
            for (int i = 0; failures < least; i++) {
                long room = needed * (i % least) / least;
                String what = each + ", room for " + room + " B";
                if (twins.step(what, () -> limit.limit(limit.liveBytes() + room))) {
                    failures++;
                    layers.add(assertNamed(what, twins.guard, twins.guard.redone.refusedAt + 1));
                }
                assertThat(i).as("iterations for %s failures", failures).isLessThan(4 * least);
            }
        }
        assertThat(layers).as("layers named").hasSizeGreaterThan(1);
        return failures;
    }

    /** The refusal is booked for whom the same request is booked when the iteration is done again. Returns the layer. */
    private static String assertNamed(String what, Again guard, int site) {
        MemoryLedger ledger = MemoryHooks.recording().ledger();
        Owner named = ledger.owners().ownerOf(guard.redone.refused);
        assertThat(ledger.failures()).as(what).extracting(FailureMoment::owner).contains(named);
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
