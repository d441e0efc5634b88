// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.report.MemorySummary;
import io.memopt.testing.Networks;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.assertj.core.data.Percentage;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.abstracts.Nd4jWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.MemoryKind;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.cpu.nativecpu.CpuMemoryManager;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** What users ran into, each with its right outcome. Flags matter, so every case has a JVM of its own. */
class UserCasesTest {
    private static final long MB = 1_000_000;
    private static final long MIB = 1 << 20;

    @Test
    void detachedOutputs_pileUp_areExplainedAndWorkspaceFormEndsIt() throws Exception {
        ChildJvm.Result child =
                ChildJvm.of(DetachedOutputs.class).options("-Xmx4g").run().ok();

        long each = 256L * 20000 * 4;
        int calls = DetachedOutputs.CALLS;
        assertThat(child.text("phase")).isEqualTo("INFERENCE");
        assertThat(child.number("arrays")).isEqualTo(calls);
        assertThat(child.number("bytes")).isEqualTo(calls * each);
        assertThat(child.number("perPass")).isCloseTo(each, Percentage.withPercentage(5));
        assertThat(child.text("site")).contains("MultiLayerNetwork.output:").contains("DetachedOutputs.main:");
        assertThat(child.text("note"))
                .contains("reachable only by the Java garbage collector, phase inference")
                .contains("growing 19.5 MiB per pass")
                .contains("output(x, false, workspace)");
        assertThat(child.number("slopeInWorkspace")).isLessThan(MB / 100);
        assertThat(child.text("equal")).isEqualTo("true");
    }

    @Test
    void viewOfOutput_kept_isBlamedForItsParent_dupIsNot() throws Exception {
        ChildJvm.Result child =
                ChildJvm.of(KeptViews.class).options("-Xmx4g").run().ok();

        long each = 200L * 20000 * 4;
        assertThat(child.number("viewed")).isEqualTo(KeptViews.CALLS / 2 * each);
        assertThat(child.text("viewNote")).contains("106.8 MiB of detached arrays have live views", "dup()");
        assertThat(child.text("note"))
                .contains("228.9 MiB in 15 detached arrays, about 15.3 MiB each, survived a full garbage collection")
                .contains("A view, e.g. getRow(), keeps its whole array: dup()");
        assertThat(child.text("noteAfterDup")).startsWith("none of");
        assertThat(child.number("afterDup")).isLessThan(each);
    }

    @Test
    void variableLengths_spillsAndResizes_areTrueAndProposedSizeEndsThem() throws Exception {
        ChildJvm.Result child = ChildJvm.of(VariableLengths.class)
                .options("-Xmx2g", "-Dmemorymanager=" + CountingMemoryManager.class.getName())
                .run()
                .ok();

        assertThat(child.text("manager")).isEqualTo("CountingMemoryManager");
        assertThat(child.number("spills")).isPositive().isEqualTo(child.number("trueSpills"));
        assertThat(child.number("spilledBytes")).isEqualTo(child.number("trueSpilledBytes"));
        assertThat(child.number("resizes")).isPositive().isEqualTo(child.number("trueResizes"));
        assertThat(child.text("resizesByWorkspace")).isEqualTo(child.text("trueResizesByWorkspace"));
        assertThat(child.text("note")).contains("initial size of");
        assertThat(child.number("fixedResizes")).isZero();
        assertThat(child.number("fixedSpills")).isZero();
        assertThat(child.number("fixedTrueSpills")).isZero();
        assertThat(child.text("losses")).isEqualTo(child.text("fixedLosses"));
    }

    @Test
    void servingThreads_workspacePerThread_areListedUntilTheyEnd() throws Exception {
        ChildJvm.Result child =
                ChildJvm.of(ServingThreads.class).options("-Xmx2g").run().ok();

        for (int threads : new int[] {4, 8}) {
            assertThat(child.number("rows" + threads)).isEqualTo(threads);
            assertThat(child.number("bytes" + threads))
                    .isGreaterThan(5 * MB * threads)
                    .isCloseTo(child.number("currentSizes" + threads), Percentage.withPercentage(5));
            assertThat(child.number("largest" + threads))
                    .isCloseTo(child.number("bytes" + threads) / threads, Percentage.withPercentage(10));
            assertThat(child.text("idle" + threads)).isEqualTo("true");
            assertThat(child.number("rowsAfter" + threads)).isZero();
            assertThat(child.number("bytesAfter" + threads)).isZero();
        }
    }

    @Test
    void physicalCap_met_isExplainedByTensorsNotByTheTinyRequest() throws Exception {
        ChildJvm.Result child = ChildJvm.of(PhysicalCap.class)
                .options(
                        "-Xmx1g",
                        "-XX:+UseG1GC",
                        "-Dorg.bytedeco.javacpp.maxbytes=1g",
                        "-Dorg.bytedeco.javacpp.maxphysicalbytes=1g")
                .run()
                .ok();

        assertThat(child.err()).contains("JavaCPP's physical cap 1.00 GiB (1073741824 B) does not exceed -Xmx");
        assertThat(child.number("arrays")).isBetween(8L, 16L);
        assertThat(child.text("worstErrorPercent").replace(',', '.'))
                .satisfies(text -> assertThat(Double.parseDouble(text)).isLessThan(2));
        assertThat(child.number("totalBytesCounterMiB")).isLessThan(1);
        assertThat(child.text("failure")).contains("OutOfMemoryError").contains("Pointer(");
        String explanation = child.out().substring(child.out().indexOf("explanation="));
        assertThat(explanation)
                .contains("JavaCPP's physical cap 1.00 GiB")
                .containsPattern("1\\d detached arrays, made by UserCasesTest.PhysicalCap.main:")
                .containsPattern(
                        "Held now: (\\d{3}\\.\\d MiB|1\\.0\\d GiB) tensors, .* workspaces, about \\d{2,3}\\.\\d MiB JVM")
                .containsPattern("The request that failed, \\w+Pointer\\(1\\), is not the cause")
                .contains("-Dorg.bytedeco.javacpp.maxphysicalbytes=");
        assertThatRaisedCapHasTheRoomThatWasPredicted(explanation);
    }

    /** The other half of case P12: the remedy, followed to the letter. */
    private static void assertThatRaisedCapHasTheRoomThatWasPredicted(String explanation) throws Exception {
        Matcher remedy = Pattern.compile(
                        "(-Dorg.bytedeco.javacpp.maxphysicalbytes=\\d+m) \\(0 switches it off\\), which has room for"
                                + " (\\d+\\.\\d+) GiB of arrays and workspaces, now")
                .matcher(explanation);
        assertThat(remedy.find()).as(explanation).isTrue();
        double predicted = Double.parseDouble(remedy.group(2)) * 1024 * MIB;

        ChildJvm.Result raised = ChildJvm.of(PhysicalCap.class)
                .options("-Xmx1g", "-XX:+UseG1GC", "-Dorg.bytedeco.javacpp.maxbytes=1g", remedy.group(1))
                .run()
                .ok();

        assertThat(raised.err()).doesNotContain("JavaCPP's physical cap");
        assertThat(raised.text("failure")).contains("OutOfMemoryError");
        assertThat(raised.number("arrays") * PhysicalCap.EACH)
                .isGreaterThan(2 * PhysicalCap.EACH)
                .isCloseTo((long) predicted, Percentage.withPercentage(10));
    }

    /** Case P12, at the start: the cap exceeds -Xmx, but not -Xmx and the network. */
    @Test
    void physicalCap_belowHeapAndNetwork_isToldAtAttach() throws Exception {
        ChildJvm.Result child = ChildJvm.of(AttachOnly.class)
                .options("-Xmx1g", "-XX:+UseG1GC", "-Dorg.bytedeco.javacpp.maxphysicalbytes=1056m")
                .run()
                .ok();

        assertThat(child.number("heapBytes")).isEqualTo(1024 * MIB);
        assertThat(child.number("heldBytes")).isGreaterThan(32 * MIB);
        assertThat(child.err())
                .contains(
                        "JavaCPP's physical cap 1.03 GiB (1107296256 B) does not exceed -Xmx 1.00 GiB (1073741824 B) +"
                                + " known off-heap memory ")
                .contains("Raise it: -Dorg.bytedeco.javacpp.maxphysicalbytes=");
    }

    private static void print(String key, Object value) {
        System.out.println(key + "=" + String.valueOf(value).replace('\n', ' '));
    }

    private static void until(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean() && System.nanoTime() < end) {
            System.gc();
            Thread.sleep(20);
            if (!condition.getAsBoolean()) {
                Thread.sleep(1100);
            }
        }
    }

    private static String note(MemorySummary summary, String part) {
        return summary.notes().stream()
                .filter(note -> note.contains(part))
                .findFirst()
                .orElse("none of " + summary.notes());
    }

    private static MemoryLedger ledger() {
        return MemoryHooks.recording().ledger();
    }

    private static long held() {
        return ledger().reservedBytes(AllocationKind.DETACHED, MemorySpace.HOST);
    }

    /** Case P1. */
    static final class DetachedOutputs {
        static final int CALLS = 20;
        static final int WORKSPACE_CALLS = 8;

        private DetachedOutputs() {}

        public static void main(String[] args) throws Exception {
            MultiLayerNetwork network = Networks.mlp(64, 128, 20000);
            INDArray x = Nd4j.rand(256, 64);
            MemOpt memopt = MemOpt.attach(network);
            for (int i = 0; i < CALLS; i++) {
                network.output(x);
            }
            MemorySummary summary = memopt.summary();
            MemorySummary.GarbageRow top = summary.garbage().get(0);
            print("phase", top.phase());
            print("arrays", top.arrays());
            print("bytes", top.bytes());
            print("perPass", top.bytesPerPass());
            print("site", top.site());
            print("note", note(summary, "garbage collector"));
            System.out.println(summary);

            WorkspaceConfiguration configuration = WorkspaceConfiguration.builder()
                    .policyAllocation(AllocationPolicy.STRICT)
                    .policyLearning(LearningPolicy.FIRST_LOOP)
                    .build();
            INDArray expected = network.output(x);
            boolean equal = true;
            long begin = 0;
            for (int i = 0; i < WORKSPACE_CALLS; i++) {
                try (MemoryWorkspace workspace =
                        Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, "SERVING")) {
                    INDArray output = network.output(x, false, workspace);
                    equal &= i % 10 > 0 || output.equalsWithEps(expected, 0);
                }
                begin = i == 2 ? ledger().reservedBytes(MemorySpace.HOST) : begin;
            }
            print("slopeInWorkspace", (ledger().reservedBytes(MemorySpace.HOST) - begin) / (WORKSPACE_CALLS - 3));
            print("equal", equal);
        }
    }

    /** Case P1, the variant. */
    static final class KeptViews {
        static final int CALLS = 15;

        private KeptViews() {}

        public static void main(String[] args) throws Exception {
            MultiLayerNetwork network = Networks.mlp(64, 128, 20000);
            INDArray x = Nd4j.rand(200, 64);
            MemOpt memopt = MemOpt.attach(network);
            long before = held();
            List<INDArray> kept = new ArrayList<>();
            for (int i = 0; i < CALLS; i++) {
                kept.add(network.output(x).getRow(i % 2 == 0 ? 0 : 5));
            }
            // The collector's word counts after a second, see FullCollections; one before the last call is not enough.
            until(() -> !note(memopt.summary(), " in " + CALLS + " detached arrays, about")
                    .startsWith("none"));
            MemorySummary summary = memopt.summary();
            print("viewed", summary.garbage().get(0).heldByViewBytes());
            print("note", note(summary, "survived"));
            print("viewNote", note(summary, "live views"));
            kept.replaceAll(INDArray::dup);
            for (int i = 0; i < CALLS; i++) {
                kept.add(network.output(x).getRow(0).dup());
            }
            until(() -> held() - before < 10 * MB);
            print("afterDup", held() - before);
            print("noteAfterDup", note(memopt.summary(), "whole array"));
            print("kept", kept.size());
        }
    }

    /** Case P3. */
    static final class VariableLengths {
        private static final String[] CONFIGURATIONS = {
            "WS_LAYER_WORKING_MEM_CONFIG",
            "WS_LAYER_ACT_X_CONFIG",
            "WS_ALL_LAYERS_ACT_CONFIG",
            "WS_RNN_LOOP_WORKING_MEM_CONFIG"
        };

        private VariableLengths() {}

        public static void main(String[] args) throws Exception {
            print("manager", Nd4j.getMemoryManager().getClass().getSimpleName());
            MultiLayerNetwork network = Networks.lstm(8, 16, 2);
            MemOpt memopt = MemOpt.attach(network);
            print("losses", train(network));
            MemorySummary summary = memopt.summary();
            System.out.println(summary);
            print("spills", sum(summary, 0));
            print("spilledBytes", sum(summary, 1));
            print("resizes", sum(summary, 2));
            print("trueSpills", CountingMemoryManager.spills);
            print("trueSpilledBytes", CountingMemoryManager.spilledBytes);
            print(
                    "trueResizes",
                    CountingMemoryManager.blocks.values().stream()
                            .mapToLong(blocks -> blocks.get() - 1)
                            .sum());
            List<String> resizes = new ArrayList<>();
            summary.workspaces().forEach(row -> resizes.add(row.name() + ":" + row.resizes()));
            Collections.sort(resizes);
            print("resizesByWorkspace", resizes);
            List<String> trueResizes = new ArrayList<>();
            CountingMemoryManager.blocks.forEach((name, blocks) -> trueResizes.add(name + ":" + (blocks.get() - 1)));
            Collections.sort(trueResizes);
            print("trueResizesByWorkspace", trueResizes);
            print("note", note(summary, "resized"));
            memopt.close();

            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            MultiLayerNetwork fixed = Networks.lstm(8, 16, 2);
            for (String name : CONFIGURATIONS) {
                Field field = MultiLayerNetwork.class.getDeclaredField(name);
                field.setAccessible(true);
                ((WorkspaceConfiguration) field.get(fixed)).setInitialSize(proposed(summary, name));
            }
            CountingMemoryManager.spills = 0;
            MemOpt second = MemOpt.attach(fixed);
            print("fixedLosses", train(fixed));
            System.out.println(second.summary());
            print("fixedSpills", sum(second.summary(), 0));
            print("fixedResizes", sum(second.summary(), 2));
            print("fixedTrueSpills", CountingMemoryManager.spills);
        }

        private static long proposed(MemorySummary summary, String configuration) {
            String prefix = configuration.replace("X_CONFIG", "").replace("_CONFIG", "");
            return summary.workspaces().stream()
                    .filter(row -> row.name().startsWith(prefix))
                    .mapToLong(MemorySummary.WorkspaceRow::maxCycleBytes)
                    .max()
                    .orElse(0);
        }

        private static String train(MultiLayerNetwork network) {
            Random lengths = new Random(1);
            StringBuilder losses = new StringBuilder();
            Nd4j.getRandom().setSeed(5);
            for (int i = 0; i < 10; i++) {
                int steps = 10 + lengths.nextInt(91);
                network.fit(new DataSet(Nd4j.rand(16, 8, steps), Nd4j.rand(16, 2, steps)));
                losses.append(Double.toHexString(network.score())).append(' ');
            }
            return losses.toString();
        }

        private static long sum(MemorySummary summary, int figure) {
            return summary.workspaces().stream()
                    .mapToLong(row -> figure == 0 ? row.spills() : figure == 1 ? row.spilledBytes() : row.resizes())
                    .sum();
        }
    }

    /** ND4J calls this for blocks and spills of workspaces and nothing else: the second opinion. */
    public static final class CountingMemoryManager extends CpuMemoryManager {
        static final ConcurrentHashMap<String, AtomicLong> blocks = new ConcurrentHashMap<>();
        static volatile long spills;
        static volatile long spilledBytes;

        @Override
        public Pointer allocate(long bytes, MemoryKind kind, boolean initialize) {
            boolean spill = StackWalker.getInstance()
                    .walk(frames -> frames.filter(frame -> frame.getClassName().endsWith("workspace.CpuWorkspace")
                                    || frame.getClassName().equals(Nd4jWorkspace.class.getName()))
                            .findFirst()
                            .map(frame -> frame.getMethodName().equals("alloc"))
                            .orElse(false));
            if (spill) {
                count(bytes);
            } else {
                // The caller is the workspace that is being initialised; the one whose size just changed.
                blocks.computeIfAbsent(current(bytes), n -> new AtomicLong()).incrementAndGet();
            }
            return super.allocate(bytes, kind, initialize);
        }

        private static synchronized void count(long bytes) {
            spills++;
            spilledBytes += bytes;
        }

        /** ND4J sets the size before it allocates, plus a margin for safety that differs by version. */
        private static String current(long bytes) {
            return Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread().stream()
                    .filter(workspace -> bytes - workspace.getCurrentSize() >= 0
                            && bytes - workspace.getCurrentSize() <= 1024
                            && workspace.getCurrentSize() > 0)
                    .map(MemoryWorkspace::getId)
                    .findFirst()
                    .orElse("unknown");
        }
    }

    /** Case P5. */
    static final class ServingThreads {
        private ServingThreads() {}

        public static void main(String[] args) throws Exception {
            MultiLayerNetwork network = Networks.cnn(48, 5);
            INDArray x = Nd4j.rand(8, 3, 48, 48);
            MemOpt memopt = MemOpt.attach(network);
            for (int threads : new int[] {4, 8}) {
                serve(memopt, network, x, threads);
            }
        }

        private static void serve(MemOpt memopt, MultiLayerNetwork network, INDArray x, int threads) throws Exception {
            ExecutorService pool = Executors.newFixedThreadPool(threads);
            CountDownLatch all = new CountDownLatch(threads);
            List<Future<Long>> sizes = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                sizes.add(pool.submit(() -> {
                    all.countDown();
                    all.await();
                    synchronized (network) {
                        for (int call = 0; call < 3; call++) {
                            network.output(x);
                        }
                    }
                    return Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread().stream()
                            .mapToLong(MemoryWorkspace::getCurrentSize)
                            .sum();
                }));
            }
            long sum = 0;
            for (Future<Long> size : sizes) {
                sum += size.get();
            }
            MemorySummary summary = memopt.summary();
            List<MemorySummary.ThreadRow> rows = rows(summary);
            System.out.println(summary);
            print("rows" + threads, rows.size());
            print("bytes" + threads, bytes(rows));
            print("currentSizes" + threads, sum);
            print("largest" + threads, rows.get(0).workspaceBytes());
            print("idle" + threads, idleTimeGrows(memopt));
            pool.shutdown();
            pool.awaitTermination(10, TimeUnit.SECONDS);
            until(() -> rows(memopt.summary()).isEmpty());
            print("rowsAfter" + threads, rows(memopt.summary()).size());
            print("bytesAfter" + threads, ledger().reservedBytes(AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST));
        }

        private static boolean idleTimeGrows(MemOpt memopt) throws InterruptedException {
            double before = idle(memopt);
            Thread.sleep(50);
            return before >= 0 && idle(memopt) >= before + 0.05;
        }

        private static double idle(MemOpt memopt) {
            return rows(memopt.summary()).stream()
                    .mapToDouble(MemorySummary.ThreadRow::idleSeconds)
                    .min()
                    .orElse(-1);
        }

        private static List<MemorySummary.ThreadRow> rows(MemorySummary summary) {
            return summary.threads().stream()
                    .filter(row -> row.thread().startsWith("pool-"))
                    .toList();
        }

        private static long bytes(List<MemorySummary.ThreadRow> rows) {
            return rows.stream()
                    .mapToLong(MemorySummary.ThreadRow::workspaceBytes)
                    .sum();
        }
    }

    /** Case P12. */
    static final class PhysicalCap {
        private static final long EACH = 64 * MIB;

        private PhysicalCap() {}

        public static void main(String[] args) {
            MemOpt.attach(Networks.mlp(2, 2, 2));
            long before = held();
            double worst = 0;
            List<INDArray> kept = new ArrayList<>();
            OutOfMemoryError failure = null;
            while (failure == null && kept.size() < 100) {
                try {
                    kept.add(Nd4j.ones(DataType.FLOAT, EACH / 4));
                    double error = Math.abs(held() - before - kept.size() * EACH) / (double) (kept.size() * EACH);
                    worst = Math.max(worst, error * 100);
                } catch (OutOfMemoryError e) {
                    failure = e;
                }
            }
            String explanation = failure == null ? "" : MemOpt.explain(failure);
            print("arrays", kept.size());
            print("worstErrorPercent", String.format(Locale.ROOT, "%.3f", worst));
            print("totalBytesCounterMiB", Pointer.totalBytes() / MIB);
            print("failure", failure);
            System.out.println("explanation=" + explanation);
        }
    }

    /** A network with 46 MB of parameters and more, attached and no more. */
    static final class AttachOnly {
        private AttachOnly() {}

        public static void main(String[] args) {
            MemOpt.attach(Networks.mlp(64, 128, 90000));
            print("heapBytes", Runtime.getRuntime().maxMemory());
            print("heldBytes", ledger().reservedBytes(MemorySpace.HOST));
        }
    }
}
