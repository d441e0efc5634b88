// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.LiveReplay;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceReader.OnCorruption;
import io.memopt.analysis.TraceAnalysis;
import io.memopt.analysis.TraceAnalyzer;
import io.memopt.cli.format.ExportFormat;
import io.memopt.report.HtmlReport;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingResult;
import org.deeplearning4j.earlystopping.saver.InMemoryModelSaver;
import org.deeplearning4j.earlystopping.scorecalc.DataSetLossCalculator;
import org.deeplearning4j.earlystopping.termination.MaxEpochsTerminationCondition;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingTrainer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Planned workspaces together with what else runs in a process: networks, threads, trainers, diagnostics. */
class PlannedCompanyTest {
    private static final MemOptConfig PLANNED =
            MemOptConfig.builder().reuse(Reuse.PLANNED).build();

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    // ---- networks and threads

    /** The third is not observed and asks for the same arrays as the first. */
    @Test
    void threeNetworks_inTurnOnOneThread_equalPlain() {
        List<Diary> plain = inTurn(false);
        List<Diary> planned = inTurn(true);
        for (int i = 0; i < plain.size(); i++) {
            planned.get(i).assertSameAs(plain.get(i));
        }
    }

    private static List<Diary> inTurn(boolean planned) {
        MemoryHooks.uninstall();
        Nd4j.getRandom().setSeed(7);
        List<Model> models = List.of(
                Networks.LENET.create(WorkspaceMode.ENABLED),
                Networks.VGG.create(WorkspaceMode.ENABLED),
                Networks.LENET.create(WorkspaceMode.ENABLED));
        List<Networks> families = List.of(Networks.LENET, Networks.VGG, Networks.LENET);
        List<Diary> diaries = List.of(new Diary(), new Diary(), new Diary());
        List<MemOpt> handles = new ArrayList<>();
        if (planned) {
            handles.add(MemOpt.attach(models.get(0), PLANNED));
            handles.add(MemOpt.attach(models.get(1), PLANNED));
        }
        for (int i = 0; i < 18; i++) {
            int turn = i % 3;
            Networks.fit(models.get(turn), families.get(turn).data(4, i));
            diaries.get(turn).score(models.get(turn));
        }
        for (int i = 0; i < 3; i++) {
            diaries.get(i).close(models.get(i));
        }
        if (planned) {
            assertThat(handles.get(0).plans())
                    .hasSize(2)
                    .allSatisfy(plan -> assertThat(plan.served()).isPositive())
                    .allSatisfy(plan -> assertThat(plan.missed()).isZero());
            handles.forEach(MemOpt::close);
        }
        return diaries;
    }

    @Test
    void threads_eachWithItsNetwork_equalPlain() throws Exception {
        List<Diary> plain = inThreads(false);
        List<Diary> planned = inThreads(true);
        for (int i = 0; i < plain.size(); i++) {
            planned.get(i).assertSameAs(plain.get(i));
        }
    }

    private static List<Diary> inThreads(boolean planned) throws Exception {
        MemoryHooks.uninstall();
        List<TrainingCases> cases = List.of(TrainingCases.VGG, TrainingCases.LSTM_LENGTHS, TrainingCases.LENET);
        ExecutorService threads = Executors.newFixedThreadPool(cases.size());
        try {
            List<Future<Diary>> running = new ArrayList<>();
            for (TrainingCases each : cases) {
                running.add(threads.submit(() -> train(each, planned)));
            }
            List<Diary> diaries = new ArrayList<>();
            for (Future<Diary> one : running) {
                diaries.add(one.get());
            }
            return diaries;
        } finally {
            threads.shutdown();
        }
    }

    private static Diary train(TrainingCases each, boolean planned) {
        Nd4j.getRandom().setSeed(7);
        Model model = each.create();
        Diary diary = new Diary();
        MemOpt memopt = planned ? MemOpt.attach(model, PLANNED) : null;
        for (int i = 0; i < 10; i++) {
            TrainingCases.fit(model, each.data(i));
            diary.score(model);
        }
        diary.close(model);
        if (memopt != null) {
            assertThat(memopt.plans()).noneMatch(plan -> plan.state().equals("REFUSED"));
            memopt.close();
        }
        return diary;
    }

    /**
     * With trainers as they come: one begins while another still copies its parameters, so two plain runs differ and there
     * are no bits to compare. PlannedParallelTest compares.
     */
    @Test
    void parallelWrapper_withItsOwnTrainers_isServed() throws Exception {
        MemoryHooks.uninstall();
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOpt memopt = MemOpt.attach(network, PLANNED);
        DataSet batch = Networks.LENET.data(4, 0);
        double before = network.score(batch);
        try (ParallelWrapper wrapper = new ParallelWrapper.Builder<>(network)
                .workers(2)
                .averagingFrequency(1)
                .build()) {
            wrapper.fit(new ExistingDataSetIterator(Collections.nCopies(8, batch)));
        }
        assertThat(memopt.plans()).noneMatch(plan -> plan.state().equals("REFUSED"));
        // Seven when one worker has proved the plan before the other asks.
        assertThat(memopt.summary().notes()).anyMatch(note -> note.matches(".*: [67] passes served, 0 missed.*"));
        assertThat(network.score(batch)).isLessThan(before);
        memopt.close();
    }

    @Test
    void earlyStopping_andEvaluation_equalPlain() {
        EarlyStoppingResult<MultiLayerNetwork> plain = stopEarly(false);
        EarlyStoppingResult<MultiLayerNetwork> planned = stopEarly(true);
        assertThat(planned.getScoreVsEpoch()).isEqualTo(plain.getScoreVsEpoch());
        assertThat(planned.getBestModel().params())
                .isEqualTo(plain.getBestModel().params());
    }

    private static EarlyStoppingResult<MultiLayerNetwork> stopEarly(boolean planned) {
        MemoryHooks.uninstall();
        Nd4j.getRandom().setSeed(7);
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOpt memopt = planned ? MemOpt.attach(network, PLANNED) : null;
        ListDataSetIterator<DataSet> data =
                new ListDataSetIterator<>(List.of(Networks.LENET.data(4, 0), Networks.LENET.data(4, 1)), 4);
        EarlyStoppingConfiguration<MultiLayerNetwork> stopping = new EarlyStoppingConfiguration.Builder<
                        MultiLayerNetwork>()
                .epochTerminationConditions(new MaxEpochsTerminationCondition(3))
                .scoreCalculator(new DataSetLossCalculator(data, true))
                .modelSaver(new InMemoryModelSaver<>())
                .build();
        EarlyStoppingResult<MultiLayerNetwork> result = new EarlyStoppingTrainer(stopping, network, data).fit();
        Evaluation evaluation = network.evaluate(data);
        result.getScoreVsEpoch().put(-1, evaluation.accuracy());
        if (memopt != null) {
            assertThat(memopt.plans())
                    .isNotEmpty()
                    .noneMatch(plan -> plan.state().equals("REFUSED"))
                    .anyMatch(plan -> plan.served() > 0);
            memopt.close();
        }
        return result;
    }

    // ---- diagnostics

    @ParameterizedTest
    @EnumSource(
            value = TrainingCases.class,
            names = {"VGG", "LSTM_LENGTHS", "RESIDUAL_GRAPH"})
    void scopeCheckAndTrace_ofPlannedTraining_haveNothingToComplainOf(TrainingCases each, @TempDir Path folder)
            throws IOException {
        Path file = folder.resolve("planned.memopt");
        Nd4j.getRandom().setSeed(7);
        Model model = each.create();
        MemOpt memopt = MemOpt.attach(
                model,
                MemOptConfig.builder()
                        .reuse(Reuse.PLANNED)
                        .scopeCheck(true)
                        .trace(file)
                        .build());
        for (int i = 0; i < 12; i++) {
            TrainingCases.fit(model, each.data(i % 3));
        }
        assertThat(memopt.scopeFindings()).isEmpty();
        assertThat(memopt.plans()).anySatisfy(plan -> assertThat(plan.served()).isPositive());
        memopt.close();

        LiveReplay replay = replay(file);
        assertThat(replay.isExact()).isTrue();
        TraceAnalysis analysis = TraceAnalyzer.analyze(file);
        assertThat(analysis.facts().exact()).isTrue();
        assertThat(analysis.facts().unmatchedFrees()).isZero();
        assertThat(analysis.liveness())
                .isNotEmpty()
                .allSatisfy(row -> assertThat(row.unknownArrays()).isZero());
        assertExports(file, folder);
        assertReport(file, folder, replay);
    }

    private static LiveReplay replay(Path file) throws IOException {
        try (TraceReader reader = new TraceReader(file, OnCorruption.FAIL)) {
            LiveReplay replay = new LiveReplay(reader.header().startNanos());
            reader.read(replay);
            return replay;
        }
    }

    private static void assertExports(Path file, Path folder) throws IOException {
        for (ExportFormat format : ExportFormat.values()) {
            Path target = folder.resolve(format.toString());
            try (TraceReader reader = new TraceReader(file, OnCorruption.FAIL)) {
                format.export(reader, target, events -> {});
            }
            assertThat(target).isNotEmptyFile();
        }
        List<String> rmm = Files.readAllLines(folder.resolve("rmm-csv"));
        long freed = rmm.stream().filter(line -> line.contains(",free,")).count();
        long allocated =
                rmm.stream().filter(line -> line.contains(",allocate,")).count();
        assertThat(freed).isPositive().isLessThanOrEqualTo(allocated);
    }

    private static void assertReport(Path file, Path folder, LiveReplay replay) throws IOException {
        Path page = folder.resolve("report.html");
        HtmlReport.write(file, page);
        String html = Files.readString(page);
        assertThat(html)
                .contains("\"peakInUse\":" + replay.peakInUseBytes(MemorySpace.HOST))
                .contains("\"peakReserved\":" + replay.peakReservedBytes(MemorySpace.HOST))
                .contains("\"inUse\":" + replay.inUseBytes(MemorySpace.HOST))
                .contains("\"reserved\":" + replay.reservedBytes(MemorySpace.HOST));
    }
}
