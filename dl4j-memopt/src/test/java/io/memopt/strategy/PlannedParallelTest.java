// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.testing.Networks;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.solvers.accumulation.encoding.threshold.FixedThresholdAlgorithm;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.dataset.DataSet;

/** Planned workspaces under ParallelWrapper: the network and the copies that it trains in threads of its own. */
class PlannedParallelTest {
    private static final int WORKERS = 2;
    private static final int ROUNDS = 2;
    private static final MemOptConfig PLANNED =
            MemOptConfig.builder().reuse(Reuse.PLANNED).build();

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void twoWorkers_equalPlain(Networks family) throws Exception {
        compare(family, 5);
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource(Networks.class)
    void manyIterations_equalPlain(Networks family) throws Exception {
        compare(family, 100);
    }

    private static void compare(Networks family, int iterations) throws Exception {
        MemoryHooks.uninstall();
        Diary plain = train(family, iterations, false);
        Diary plainAgain = train(family, iterations, false);
        plainAgain.assertSameAs(plain);
        Diary planned = train(family, iterations, true);
        planned.assertSameAs(plain);
    }

    private static Diary train(Networks family, int iterations, boolean planned) throws Exception {
        Model model = family.create(WorkspaceMode.ENABLED);
        Diary diary = new Diary();
        MemOpt memopt = planned ? MemOpt.attach(model, PLANNED) : null;
        for (int round = 0; round < ROUNDS; round++) {
            fit(model, family, iterations);
            diary.score(model);
        }
        diary.close(model);
        if (memopt != null) {
            assertServed(memopt, WORKERS * (ROUNDS * iterations - shapes(family, iterations)));
            memopt.close();
        }
        return diary;
    }

    /** How many kinds of minibatch a worker meets. */
    private static int shapes(Networks family, int iterations) {
        return (int) batches(family, WORKERS * iterations).stream()
                .map(batch -> Arrays.toString(batch.getFeatures().shape()))
                .distinct()
                .count();
    }

    private static void fit(Model model, Networks family, int iterations) throws Exception {
        fit(model, family, iterations, WORKERS);
    }

    /** Each worker gets {@code iterations} minibatches; a wrapper has at least two. */
    private static void fit(Model model, Networks family, int iterations, int workers) throws Exception {
        try (ParallelWrapper wrapper = wrapper(model, workers)) {
            wrapper.fit(new ExistingDataSetIterator(batches(family, workers * iterations)));
        }
    }

    private static ParallelWrapper wrapper(Model model, int workers) {
        ParallelWrapper wrapper = new ParallelWrapper.Builder<>(model)
                .workers(workers)
                .averagingFrequency(1)
                .prefetchBuffer(0)
                .build();
        wrapper.setTrainerContext(new SteadyTrainers(workers)); // the builder would replace it
        return wrapper;
    }

    private static List<DataSet> batches(Networks family, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> family.data(4, i / (2 * WORKERS)))
                .toList();
    }

    /** A wrapper hands on the listeners that its network has when it is built, and takes away all others. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void copies_areObservedAsTheirNetwork_andForgottenWithIt(boolean attachedFirst) throws Exception {
        Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
        MemOpt before = attachedFirst ? MemOpt.attach(model) : null;
        MemOpt memopt;
        try (ParallelWrapper wrapper = wrapper(model, WORKERS)) {
            memopt = before == null ? MemOpt.attach(model) : before;
            wrapper.fit(new ExistingDataSetIterator(batches(Networks.VGG, WORKERS * 4)));
        }

        MemoryLedger ledger = MemoryHooks.recording().ledger();
        Map<String, Long> bytes = workspaceBytesByNetwork(ledger);
        assertThat(bytes).containsOnlyKeys("MultiLayerNetwork-1", "MultiLayerNetwork-1 worker 1");
        assertThat(bytes.get("MultiLayerNetwork-1 worker 1")).isEqualTo(bytes.get("MultiLayerNetwork-1"));
        assertThat(memopt.summary().notes()).noneMatch(note -> note.contains("lost its MemoryListener"));
        memopt.close();
        assertThat(MemoryHooks.installed()).isFalse();
    }

    /** Of arrays that belong to a layer: what a thread places before its network is known is nobody's. */
    private static Map<String, Long> workspaceBytesByNetwork(MemoryLedger ledger) {
        return ledger.usage().stream()
                .filter(usage -> usage.owner().workspace().startsWith("WS_"))
                .filter(usage -> !usage.owner().layer().isEmpty())
                .collect(Collectors.groupingBy(
                        usage -> usage.owner().network(), Collectors.summingLong(OwnerUsage::allocatedBytes)));
    }

    /** A copy drops as much as the network does. */
    @Test
    void garbageOfCopies_isReleased() throws Exception {
        long two = released(2);
        assertThat(two).isPositive();
        assertThat(2 * released(3)).isEqualTo(3 * two);
    }

    private static long released(int workers) throws Exception {
        Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(
                model, MemOptConfig.builder().reuse(Reuse.RELEASED).build())) {
            fit(model, Networks.VGG, 4, workers);
            return memopt.summary().releasedBytes();
        }
    }

    /** The wrapper ends its threads after each round, and destroys their workspaces when it does. */
    @Test
    void endOfRound_givesArenasBack() throws Exception {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model, PLANNED)) {
            fit(model, Networks.LENET, 3);
            assertServed(memopt, WORKERS * 2);
            assertThat(MemoryHooks.recording().ledger().accounts())
                    .filteredOn(account -> account.name().equals("MEMOPT_ARENA"))
                    .hasSize(WORKERS)
                    .allSatisfy(account ->
                            assertThat(account.reservedBytes(MemorySpace.HOST)).isZero());
        }
    }

    /** Workers that send each other encoded gradients; threads decide who is first, so that no two runs are equal. */
    @Test
    void sharedGradients_areTrainedWithTrustedPlans() throws Exception {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        List<DataSet> batches = batches(Networks.LENET, WORKERS * 12);
        double before = ((MultiLayerNetwork) model).score(batches.get(0));
        try (MemOpt memopt = MemOpt.attach(model, PLANNED);
                ParallelWrapper wrapper = new ParallelWrapper.Builder<>(model)
                        .workers(WORKERS)
                        .trainingMode(ParallelWrapper.TrainingMode.SHARED_GRADIENTS)
                        .thresholdAlgorithm(new FixedThresholdAlgorithm(1e-3))
                        .prefetchBuffer(0)
                        .build()) {
            wrapper.fit(new ExistingDataSetIterator(batches));

            assertThat(memopt.plans()).isNotEmpty().allSatisfy(plan -> {
                assertThat(plan.state()).as("%s", plan).isEqualTo("TRUSTED");
                assertThat(plan.missed()).as("%s", plan).isZero();
            });
        }
        assertThat(model.params().isNaN().any()).isFalse();
        assertThat(((MultiLayerNetwork) model).score(batches.get(0))).isLessThan(before);
    }

    /** In the first round both workers prove what they need; in the second they begin with it. */
    private static void assertServed(MemOpt memopt, int served) {
        assertThat(memopt.plans())
                .isNotEmpty()
                .allSatisfy(plan -> assertThat(plan.state()).as("%s", plan).isEqualTo("TRUSTED"));
        assertThat(memopt.summary().notes()).anyMatch(note -> note.contains(served + " passes served, 0 missed"));
    }
}
