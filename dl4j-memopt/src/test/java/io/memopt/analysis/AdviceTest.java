// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** The saving that an advice states, against what following its action to the letter really saves: within 10 %. */
class AdviceTest {
    private static final int CALLS = 40;

    @TempDir
    Path folder;

    /** Case P1. */
    @Test
    void outputInWorkspace_followed_savesWhatItSays() throws Exception {
        TraceAnalysis before = analyze(CaseTraces.detachedOutputs(file("before"), CALLS, 0));
        Advice advice = advice(before, Advice.Kind.OUTPUT_IN_WORKSPACE);
        long result = 256L * 2000 * 4;

        assertThat(before.advice().get(0)).isEqualTo(advice);
        assertThat(advice.finding())
                .contains("output()", "2.0 MiB", CALLS + " calls", "only close() or the Java garbage");
        assertThat(advice.action())
                .contains("LearningPolicy.FIRST_LOOP", "AllocationPolicy.STRICT", "net.output(x, false, ws)");
        Growth growth = before.growth().get(0);
        assertThat(growth.owner().phase()).isEqualTo(Phase.INFERENCE);
        assertThat(growth.step()).isEqualTo(Growth.Step.PASS);
        assertThat(growth.bytesPerStep()).isCloseTo((double) result, within(0.05 * result));
        assertThat(before.suspects().get(0).bytes()).isGreaterThanOrEqualTo(CALLS * result);
        assertThat(before.suspects().get(0).site()).contains("MultiLayerNetwork.output:");

        TraceAnalysis after = analyze(
                CaseTraces.detachedOutputs(file("after"), CALLS, number("initialSize\\((\\d+)L\\)", advice.action())));

        assertSaved(advice, before, after);
        assertThat(end(before) - end(after)).isCloseTo(advice.savedAtEnd(), within(advice.savedAtEnd() / 10));
        // A scalar for each layer and call remains, which is ND4J's own.
        assertThat(after.growth()).allMatch(row -> row.bytesPerStep() <= 16);
        assertThat(after.advice()).noneMatch(row -> row.kind() == Advice.Kind.OUTPUT_IN_WORKSPACE);
    }

    /** Case P5, by fewer threads. */
    @Test
    void fewerThreads_followed_savesWhatItSays() throws Exception {
        int threads = 6;
        TraceAnalysis before = analyze(CaseTraces.servingThreads(file("before"), threads, false));
        Advice advice = advice(before, Advice.Kind.FEWER_THREADS);

        assertThat(before.advice().get(0)).isEqualTo(advice);
        assertThat(advice.finding()).contains(threads + " threads have workspaces of their own", "at most 1 of them");
        long each = before.workspaces().stream()
                        .mapToLong(WorkspaceRow::maxBlockBytes)
                        .sum()
                / threads;
        assertThat(advice.finding()).contains(threads + " x " + ByteSize.scaled(each) + " = ");
        assertThat(advice.savedBytes()).isGreaterThan(advice.peakBefore() / 2);

        int kept = (int) number("newFixedThreadPool\\((\\d+)\\)", advice.action());
        TraceAnalysis after = analyze(CaseTraces.servingThreads(file("after"), kept, false));

        assertSaved(advice, before, after);
        assertThat(after.advice()).noneMatch(row -> row.kind() == Advice.Kind.FEWER_THREADS);
    }

    /** Case P5, by the other action that the advice names. */
    @Test
    void workspacesDestroyedWhenAThreadIsDone_saveTheSame() throws Exception {
        int threads = 6;
        TraceAnalysis before = analyze(CaseTraces.servingThreads(file("before"), threads, false));
        Advice advice = advice(before, Advice.Kind.FEWER_THREADS);
        assertThat(advice.action()).contains("destroyAllWorkspacesForCurrentThread() when a thread is done");

        TraceAnalysis after = analyze(CaseTraces.servingThreads(file("after"), threads, true));

        assertSaved(advice, before, after);
    }

    @Test
    void collectedEachIteration_batchNormalisation_savesWhatItSays() throws Exception {
        TraceAnalysis before = analyze(train("before", false, Reuse.OFF));
        Advice advice = advice(before, Advice.Kind.CLOSE_DETACHED);

        assertThat(advice.action()).contains("iterationDone", "Nd4j.getMemoryManager().invokeGc()");

        TraceAnalysis after = analyze(train("after", true, Reuse.OFF));

        assertSaved(advice, before, after);
    }

    @Test
    void releasedWhenDead_batchNormalisation_savesWhatItSays() throws Exception {
        TraceAnalysis before = analyze(train("before", false, Reuse.OFF));
        Advice advice = advice(before, Advice.Kind.CLOSE_DETACHED);

        assertThat(advice.action()).contains("reuse(Reuse.RELEASED)");

        TraceAnalysis after = analyze(train("after", false, Reuse.RELEASED));

        assertSaved(advice, before, after);
    }

    @Test
    void workspaceMode_followed_savesAtLeastWhatItSays() throws Exception {
        TraceAnalysis before = analyze(leNet("before", WorkspaceMode.NONE));
        Advice advice = advice(before, Advice.Kind.WORKSPACE_MODE);

        assertThat(advice.action()).contains("setTrainingWorkspaceMode(WorkspaceMode.ENABLED)");
        assertThat(before.advice()).noneMatch(row -> row.kind() == Advice.Kind.CLOSE_DETACHED);

        TraceAnalysis after = analyze(leNet("after", WorkspaceMode.ENABLED));

        assertThat(advice.savedBytes()).isPositive();
        assertThat(reserved(before) - reserved(after)).isGreaterThanOrEqualTo(advice.savedBytes() * 9 / 10);
        assertThat(after.advice()).noneMatch(row -> row.kind() == Advice.Kind.WORKSPACE_MODE);
    }

    private Path leNet(String name, WorkspaceMode mode) throws Exception {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(mode);
        List<DataSet> data =
                IntStream.range(0, 8).mapToObj(i -> Networks.LENET.data(32, i)).toList();
        return CaseTraces.record(file(name), network, Reuse.OFF, () -> data.forEach(network::fit));
    }

    @Test
    void plannedReuse_followed_savesWhatItSays() throws Exception {
        TraceAnalysis before = analyze(leNet("before", config -> config.recordUses(true), false));
        Advice advice = advice(before, Advice.Kind.PLAN_ARRAYS);

        assertThat(before.advice().get(0)).isEqualTo(advice);
        assertThat(advice.exactness()).isEqualTo(Exactness.BITWISE);
        assertThat(advice.action())
                .contains("MemOptConfig.builder().reuse(Reuse.PLANNED).build()", "memopt.rehearse(data)");
        assertThat(advice.finding()).contains("hold 34.9 MiB", "need 19.3 MiB between birth and last use");
        assertThat(advice.savedBytes()).isGreaterThan(15L << 20);

        TraceAnalysis after = analyze(leNet("after", config -> config.reuse(Reuse.PLANNED), true));

        assertSaved(advice, before, after);
        assertThat(reserved(after)).isCloseTo(advice.peakAfter(), within(advice.peakAfter() / 10));
        assertThat(after.advice()).noneMatch(row -> row.kind() == Advice.Kind.PLAN_ARRAYS);
    }

    @Test
    void plannedReuse_withoutUsesInTheTrace_isSaidToBeUnknown() throws Exception {
        Advice advice = advice(analyze(leNet("plain", config -> config, false)), Advice.Kind.PLAN_ARRAYS);

        assertThat(advice.savingIsUnknown()).isTrue();
        assertThat(advice.peakAfter()).isEqualTo(advice.peakBefore());
        assertThat(advice.finding()).contains("unknown", "does not tell when arrays were last used");
        assertThat(advice.action()).contains("recordUses(true)");
    }

    private Path leNet(String name, UnaryOperator<MemOptConfig.Builder> with, boolean rehearse) {
        Model network = ReferenceNetworks.LENET.create();
        List<DataSet> data =
                IntStream.range(0, 5).mapToObj(ReferenceNetworks.LENET::data).toList();
        MemOptConfig config =
                with.apply(MemOptConfig.builder().trace(file(name))).build();
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            if (rehearse) {
                memopt.rehearse(data.get(0));
            }
            data.forEach(batch -> Networks.fit(network, batch));
        } finally {
            MemoryHooks.uninstall();
        }
        return file(name);
    }

    private Path train(String name, boolean collect, Reuse reuse) throws Exception {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.VGG.create(WorkspaceMode.ENABLED);
        if (collect) {
            network.addListeners(new BaseTrainingListener() {
                @Override
                public void iterationDone(Model model, int iteration, int epoch) {
                    Nd4j.getMemoryManager().invokeGc();
                }
            });
        }
        // Made beforehand and kept, so that the collector frees only what layers detached.
        List<DataSet> data =
                IntStream.range(0, 12).mapToObj(i -> Networks.VGG.data(32, i)).toList();
        return CaseTraces.record(file(name), network, reuse, () -> data.forEach(network::fit));
    }

    private static void assertSaved(Advice advice, TraceAnalysis before, TraceAnalysis after) {
        assertThat(advice.savedBytes()).isPositive();
        assertThat(reserved(before) - reserved(after))
                .as("advice: %s", advice)
                .isCloseTo(advice.savedBytes(), within(advice.savedBytes() / 10));
    }

    private static long reserved(TraceAnalysis analysis) {
        return analysis.peakBytes(Measure.RESERVED, MemorySpace.HOST);
    }

    private static long end(TraceAnalysis analysis) {
        return analysis.owners().stream().mapToLong(UsageRow::endBytes).sum();
    }

    private static long number(String pattern, String text) {
        Matcher matcher = Pattern.compile(pattern).matcher(text);
        assertThat(matcher.find()).as(text).isTrue();
        return Long.parseLong(matcher.group(1));
    }

    private static Advice advice(TraceAnalysis analysis, Advice.Kind kind) {
        return analysis.advice().stream()
                .filter(advice -> advice.kind() == kind)
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + kind + " in " + analysis.advice()));
    }

    private Path file(String name) {
        return folder.resolve(name + ".memopt");
    }

    private static TraceAnalysis analyze(Path file) throws IOException {
        return TraceAnalyzer.analyze(file);
    }
}
