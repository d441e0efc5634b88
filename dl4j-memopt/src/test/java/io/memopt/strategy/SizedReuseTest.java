// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.memopt.report.MemorySummary;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Workspaces as large as they need to be: from the first pass on, no longer than needed, and without a bit of difference. */
class SizedReuseTest {
    private static final MemOptConfig SIZED =
            MemOptConfig.builder().reuse(Reuse.SIZED).build();

    @BeforeEach
    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    // ---- results

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "ZOO_RESNET50")
    void training_withListenersAndInference_equalsPlain(TrainingCases each) {
        Diary plain = train(each, null);
        Diary sized = train(each, SIZED);
        sized.assertSameAs(plain);
    }

    /** The second half with a listener that reads activations. */
    private static Diary train(TrainingCases each, @Nullable MemOptConfig config) {
        MemoryHooks.uninstall();
        Nd4j.getRandom().setSeed(7);
        Model model = each.create();
        Diary diary = new Diary();
        MemOpt memopt = config == null ? null : MemOpt.attach(model, config);
        for (int i = 0; i < 14; i++) {
            if (i == 7) {
                model.addListeners(diary.new ActivationStatistics());
            }
            TrainingCases.fit(model, each.data(i));
            diary.score(model);
            if (i % 5 == 4) {
                diary.ask(model, each.data(i + 1));
            }
        }
        diary.close(model);
        if (memopt != null) {
            assertThat(memopt.summary().notes())
                    .anySatisfy(note -> assertThat(note).startsWith("Sized workspaces: "))
                    .noneMatch(note -> note.startsWith("Sized workspaces: 0 passes"));
            memopt.close();
        }
        return diary;
    }

    // ---- sizes kept

    @ParameterizedTest
    @CsvSource({
        "LENET, SIZED", "VGG, SIZED", "LSTM_LENGTHS, SIZED", "RESIDUAL_GRAPH, SIZED", "TBPTT, SIZED",
        "LENET, PLANNED", "VGG, PLANNED", "LSTM_LENGTHS, PLANNED", "RESIDUAL_GRAPH, PLANNED", "TBPTT, PLANNED"
    })
    void profile_firstIterationNeitherSpillsNorReallocates(TrainingCases each, Reuse reuse, @TempDir Path folder) {
        MemOptConfig kept = MemOptConfig.builder()
                .reuse(reuse)
                .planProfile(folder.resolve("profile.json"))
                .build();
        List<Double> learning = scores(each, kept, false);
        List<Double> profiled = scores(each, kept, true);
        assertThat(profiled).isEqualTo(learning);
    }

    private static List<Double> scores(TrainingCases each, MemOptConfig config, boolean profiled) {
        MemoryHooks.uninstall();
        Nd4j.getRandom().setSeed(7);
        Model model = each.create();
        List<Double> scores = new ArrayList<>();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < 6; i++) {
                TrainingCases.fit(model, each.data(i));
                scores.add(model.score());
                if (profiled) {
                    assertNoSpillNorResize(memopt.summary());
                }
            }
            if (!profiled) {
                assertThat(spilledBytes(memopt.summary())).isPositive();
            }
        }
        return scores;
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void rehearsed_firstMinibatchNeitherSpillsNorReallocates(Networks family) {
        Nd4j.getRandom().setSeed(7);
        Model plain = family.create(WorkspaceMode.ENABLED);
        Networks.fit(plain, family.data(12, 0));

        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model, SIZED)) {
            memopt.rehearse(family.data(3, 0));
            long before = spilledBytes(memopt.summary());
            Networks.fit(model, family.data(12, 0));
            assertThat(model.score()).isEqualTo(plain.score());
            assertThat(spilledBytes(memopt.summary())).isEqualTo(before);
            assertThat(memopt.summary().notes()).anyMatch(note -> note.contains("resized 0 times"));
        }
    }

    /** Lengths that the profile has not seen, none longer than those it has. */
    @ParameterizedTest
    @EnumSource(
            value = Reuse.class,
            names = {"SIZED", "PLANNED"})
    void randomLengths_profiled_areNeverResized(Reuse reuse, @TempDir Path folder) {
        MemOptConfig kept = MemOptConfig.builder()
                .reuse(reuse)
                .planProfile(folder.resolve("profile.json"))
                .build();
        sequences(kept, new int[] {40, 11, 23}, false);
        int[] lengths = new Random(3).ints(20, 5, 41).toArray();
        List<Double> plain = sequences(null, lengths, false);
        assertThat(sequences(kept, lengths, true)).isEqualTo(plain);
    }

    private static List<Double> sequences(@Nullable MemOptConfig config, int[] lengths, boolean profiled) {
        MemoryHooks.uninstall();
        Nd4j.getRandom().setSeed(7);
        Model model = Networks.LSTM_TEXT.create(WorkspaceMode.ENABLED);
        List<Double> scores = new ArrayList<>();
        MemOpt memopt = config == null ? null : MemOpt.attach(model, config);
        for (int i = 0; i < lengths.length; i++) {
            Networks.fit(model, Networks.sequences(4, lengths[i], i));
            scores.add(model.score());
            if (memopt != null && profiled) {
                assertNoSpillNorResize(memopt.summary());
            }
        }
        if (memopt != null) {
            memopt.close();
        }
        return scores;
    }

    /** An inference pool: what the first thread has learnt serves the others. */
    @Test
    void secondThread_ofTheSameNetwork_neverSpills() throws Exception {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        INDArray features = Networks.LENET.data(4, 0).getFeatures();
        try (MemOpt memopt = MemOpt.attach(network, SIZED)) {
            INDArray first = network.output(features);
            long before = spilledBytes(memopt.summary());
            Thread thread =
                    new Thread(() -> assertThat(network.output(features)).isEqualTo(first));
            thread.start();
            thread.join();
            assertThat(spilledBytes(memopt.summary())).isEqualTo(before);
        }
    }

    @Test
    void damagedSizes_areLeftOut(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(
                folder.resolve("profile.json"),
                "{\"format\":\"memopt-plans\",\"version\":1,\"networks\":{},\"sizes\":{\"x\":[{\"bytes\":5},"
                        + "{\"key\":{\"batch\":3},\"bytes\":5},{\"key\":null}]}}");
        MemOptConfig kept =
                MemOptConfig.builder().reuse(Reuse.SIZED).planProfile(file).build();
        assertThat(scores(TrainingCases.LENET, kept, false)).hasSize(6);
    }

    // ---- bytes given back

    /** Huge twice: an arena does not grow for what is not seen again. */
    @ParameterizedTest
    @CsvSource({"LENET, SIZED", "RESIDUAL_GRAPH, SIZED", "LENET, PLANNED", "RESIDUAL_GRAPH, PLANNED"})
    void oneHugeMinibatch_isForgotten(Networks family, Reuse reuse) {
        List<Double> plain = withOutlier(family, null);
        List<Double> trimmed = withOutlier(
                family, MemOptConfig.builder().reuse(reuse).trimAfter(5).build());
        assertThat(trimmed).isEqualTo(plain);
    }

    private static List<Double> withOutlier(Networks family, @Nullable MemOptConfig config) {
        MemoryHooks.uninstall();
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        MemOpt memopt = config == null ? null : MemOpt.attach(model, config);
        List<Double> scores = new ArrayList<>();
        long before = 0;
        long huge = 0;
        for (int i = 0; i < 20; i++) {
            Networks.fit(model, family.data(i == 5 || i == 6 ? 40 : 4, i));
            scores.add(model.score());
            before = i == 4 ? networkBlocks() : before;
            huge = i == 6 ? networkBlocks() : huge;
        }
        if (memopt != null) {
            assertThat(huge).isGreaterThan(3 * before);
            assertThat(networkBlocks()).isEqualTo(before);
            assertThat(memopt.summary().notes()).anyMatch(note -> note.contains("after passes that did not need them"));
            memopt.close();
        }
        return scores;
    }

    /** Plain Deeplearning4j keeps the largest block of each workspace; an arena is as large as the larger network needs. */
    @Test
    void twoNetworksOnAThread_needTheLargerOnesBytes() {
        long plain = blocksAfter(MemOptConfig.defaults(), Networks.VGG, Networks.LSTM_TEXT);
        long large = blocksAfter(SIZED, Networks.VGG);
        long small = blocksAfter(SIZED, Networks.LSTM_TEXT);
        long both = blocksAfter(SIZED, Networks.VGG, Networks.LSTM_TEXT);
        assertThat(both).isEqualTo(Math.max(large, small)).isLessThan(plain);
    }

    private static long blocksAfter(MemOptConfig config, Networks... families) {
        MemoryHooks.uninstall();
        List<Model> models = new ArrayList<>();
        List<MemOpt> handles = new ArrayList<>();
        for (Networks family : families) {
            Model model = family.create(WorkspaceMode.ENABLED);
            models.add(model);
            handles.add(MemOpt.attach(model, config));
        }
        for (int i = 0; i < 6; i++) {
            for (int j = 0; j < families.length; j++) {
                Networks.fit(models.get(j), families[j].data(4, 0));
            }
        }
        long blocks = networkBlocks();
        handles.forEach(MemOpt::close);
        return blocks;
    }

    @ParameterizedTest
    @CsvSource({"LENET, SIZED", "VGG, PLANNED"})
    void idleThreads_giveTheirArenasBack_whichComeBackRight(Networks family, Reuse reuse) throws Exception {
        int threads = 8;
        MultiLayerNetwork network = (MultiLayerNetwork) family.create(WorkspaceMode.ENABLED);
        INDArray features = family.data(4, 0).getFeatures();
        INDArray expected = network.output(features);
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try (MemOpt memopt = MemOpt.attach(
                network,
                MemOptConfig.builder()
                        .reuse(reuse)
                        .releaseIdleAfter(Duration.ofMillis(200))
                        .build())) {
            for (int round = 0; round < 3; round++) {
                serve(pool, threads, network, features, expected);
                assertThat(networkBlocks()).isPositive();
                while (networkBlocks() > 0) {
                    Thread.onSpinWait();
                }
            }
            assertThat(memopt.summary().notes()).noneMatch(note -> note.contains(", 0 B (0 B) of idle threads"));
        } finally {
            pool.shutdown();
        }
    }

    /** Every thread answers several requests, one at a time: a network serves one thread at once. */
    private static void serve(
            ExecutorService pool, int threads, MultiLayerNetwork network, INDArray features, INDArray expected)
            throws Exception {
        CyclicBarrier all = new CyclicBarrier(threads);
        List<Future<?>> answers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            answers.add(pool.submit(() -> {
                all.await();
                for (int request = 0; request < 3; request++) {
                    synchronized (network) {
                        assertThat(network.output(features)).isEqualTo(expected);
                    }
                }
                return null;
            }));
        }
        for (Future<?> answer : answers) {
            answer.get();
        }
    }

    // ---- settings

    @Test
    void givingBack_withoutArenas_isRefused() {
        assertThatThrownBy(() -> MemOptConfig.builder()
                        .releaseIdleAfter(Duration.ofSeconds(1))
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("releaseIdleAfter=PT1S but reuse=OFF, expected SIZED or PLANNED");
        assertThatThrownBy(() -> MemOptConfig.builder().trimAfter(0)).hasMessage("trimAfter=0, expected at least 1");
    }

    private static void assertNoSpillNorResize(MemorySummary summary) {
        assertThat(summary.workspaces())
                .allSatisfy(row -> assertThat(row.spilledBytes()).as("%s", row).isZero())
                .allSatisfy(row -> assertThat(row.resizes()).as("%s", row).isZero());
    }

    private static long spilledBytes(MemorySummary summary) {
        return summary.workspaces().stream()
                .mapToLong(MemorySummary.WorkspaceRow::spilledBytes)
                .sum();
    }

    /** Blocks of arenas, and those that ND4J has for networks. */
    private static long networkBlocks() {
        return MemoryHooks.recording().ledger().accounts().stream()
                .filter(account -> !account.circular())
                .mapToLong((WorkspaceAccount account) -> account.reservedBytes(MemorySpace.HOST))
                .sum();
    }
}
