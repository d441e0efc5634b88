// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.ProcessMemory;
import io.memopt.allocator.recording.ThreadContext;
import io.memopt.allocator.recording.TraceOptions;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceWriter;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.memopt.allocator.use.UseBook;
import io.memopt.analysis.Measure;
import io.memopt.analysis.Peak;
import io.memopt.analysis.TraceAnalysis;
import io.memopt.analysis.TraceAnalyzer;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CliTest {
    private static final int EVENTS = 3000;
    /** PyTorch's own counters, see the README beside the snapshot. */
    private static final long TORCH_ALLOCATED = 85_649_408;

    private static final long TORCH_RESERVED = 94_371_840;
    private static final long TORCH_BEFORE = 201_216;

    @TempDir
    Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Path trace;

    @BeforeEach
    void record() throws IOException {
        trace = folder.resolve("run.memopt");
        BigTrace.write(trace, EVENTS);
    }

    @Test
    void version_isTheOneOfTheBuild() throws IOException {
        Matcher pom = Pattern.compile("<version>([^<]+)</version>").matcher(Files.readString(Path.of("pom.xml")));
        assertThat(pom.find()).isTrue();

        assertThat(run("--version")).isZero();

        assertThat(out.toString().strip()).isEqualTo("memopt " + pom.group(1));
    }

    @Test
    void summary_asJson_hasTheFiguresOfTheAnalysis() throws IOException {
        assertThat(run("summary", trace.toString(), "--json")).isZero();

        JsonObject json = JsonParser.parseString(out.toString()).getAsJsonObject();
        TraceAnalysis analysis = TraceAnalyzer.analyze(trace);
        JsonObject peak = json.getAsJsonArray("peaks").get(0).getAsJsonObject();
        assertThat(peak.get("bytes").getAsLong()).isEqualTo(analysis.peakBytes(Measure.RESERVED, MemorySpace.HOST));
        assertThat(json.getAsJsonArray("iterations")).hasSameSizeAs(analysis.iterations());
        assertThat(json.getAsJsonObject("facts").get("events").getAsLong())
                .isEqualTo(analysis.facts().events());
    }

    @Test
    void summary_asText_saysWhatMatters() {
        assertThat(run("summary", trace.toString())).isZero();

        assertThat(out.toString())
                .contains(
                        "reserved peak, host", "WS_LAYER_WORKING_MEM", "Iterations", "unknown: the trace has no events")
                .doesNotContain("null", "Optional");
    }

    @Test
    void summary_ofTraceWithUses_saysWhatArraysNeed() throws IOException {
        writeUses();

        assertThat(run("summary", trace.toString())).isZero();
        assertThat(out.toString())
                .contains("What workspace arrays need from birth to last use, at least")
                .containsPattern("main +4\\.0 KiB +3\\.0 KiB +2\\.0 KiB +2\\.00")
                .containsPattern("  WS +4\\.0 KiB +3\\.0 KiB +2\\.0 KiB")
                .contains("1 array was never seen in use, the use of 0 was not recorded")
                .containsPattern("dead in scope +1\\.0 KiB")
                .containsPattern("resident +[0-9.]+ [KMG]iB .* at most")
                .doesNotContain("null", "Optional");

        out.getBuffer().setLength(0);
        assertThat(run("summary", trace.toString(), "--json")).isZero();
        JsonObject row = JsonParser.parseString(out.toString())
                .getAsJsonObject()
                .getAsJsonArray("liveness")
                .get(0)
                .getAsJsonObject();
        assertThat(row.get("lowerBoundBytes").getAsLong()).isEqualTo(2048);
        assertThat(row.get("blockBytes").getAsLong()).isEqualTo(4096);
    }

    /** A block of 4 KiB with three arrays of 1 KiB; the first is dead when the third is born, which is never used. */
    private void writeUses() throws IOException {
        MemoryLedger ledger = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);
        UseBook book = new UseBook(ledger);
        try (TraceWriter writer = new TraceWriter(trace, ledger, TraceOptions.DEFAULTS)) {
            ledger.addSink(writer);
            WorkspaceAccount workspace = ledger.openAccount("WS", Thread.currentThread(), false);
            ledger.scopeEntered(workspace, MemorySpace.HOST);
            ThreadContext.current().beginIntent(AllocationKind.WORKSPACE_BLOCK, workspace);
            ledger.allocated(MemorySpace.HOST, 1 << 20, 1 << 20, 4096, 4096);
            ThreadContext.current().endIntent();
            for (int i = 0; i < 3; i++) {
                long address = (1 << 20) + 1024L * i;
                ledger.arrayAllocated(workspace, MemorySpace.HOST, address, 1024, 1024);
                book.arrayBorn(workspace, false, MemorySpace.HOST, address, 1024, 1024);
                book.bufferCreated(i, address);
                book.used(i == 2 ? 1 : i);
            }
            ledger.allocated(MemorySpace.HOST, 1 << 22, 1 << 22, 64, 64); // the reserved peak
            book.used(1);
            ledger.processSampled(ProcessMemory.now());
            book.arraysReleased(workspace);
            ledger.arraysReleased(workspace, MemorySpace.HOST);
        }
    }

    @Test
    void diff_ofEqualRuns_isEmptyAndPasses() {
        assertThat(run("diff", trace.toString(), trace.toString(), "--fail-over", "0"))
                .isZero();
        assertThat(out.toString()).contains("No difference");
    }

    @Test
    void diff_overThreshold_exitsWithOne() throws IOException {
        Path larger = folder.resolve("larger.memopt");
        BigTrace.write(larger, 10 * EVENTS);

        assertThat(run("diff", trace.toString(), larger.toString(), "--fail-over", "1000"))
                .isEqualTo(ExitCode.OVER);
        assertThat(err.toString()).contains("The reserved peak grew by");
        assertThat(run("diff", larger.toString(), trace.toString(), "--fail-over", "1000"))
                .isZero();
    }

    @Test
    void diff_ofIterations_saysWhichChangedSize() {
        assertThat(run("diff", trace.toString(), "--iterations", "0,1")).isZero();
        assertThat(out.toString()).contains("arrays changed size");
    }

    /** Inputs that are made between iterations are in no iteration, but in what is held. */
    @Test
    void diff_ofRunsThatHoldOtherInputs_neverSaysNoDifference() throws IOException {
        Path few = folder.resolve("few.memopt");
        Path many = folder.resolve("many.memopt");
        inputs(few, 1, 4096);
        inputs(many, 3, 4096);
        Path early = folder.resolve("early.memopt");
        inputs(early, 3, 1 << 20);

        assertThat(run("diff", few.toString(), many.toString())).isZero();
        assertThat(out.toString()).contains("input").doesNotContain("No difference");
        assertThat(run("diff", many.toString(), "--iterations", "0,2")).isZero();
        assertThat(out.toString())
                .contains("The two iterations allocate the same. What differs was held before them")
                .doesNotContain("No difference");
        assertThat(run("diff", many.toString(), "--iterations", "1,1")).isZero();
        assertThat(out.toString()).contains("No difference in what the two iterations allocate");
        assertThat(run("diff", early.toString(), early.toString())).isZero();
        assertThat(out.toString()).contains("No difference in what the peaks are made of");
    }

    /** The reserved peak is a block that is given back; inputs are held later, in less than that. */
    @Test
    void diff_ofRunsThatDifferBelowTheReservedPeak_tellsInUsePeaksApart() throws IOException {
        Path few = folder.resolve("few.memopt");
        Path many = folder.resolve("many.memopt");
        spareBlockThenInputs(few, 1);
        spareBlockThenInputs(many, 3);

        assertThat(run("diff", few.toString(), many.toString())).isZero();
        assertThat(out.toString())
                .containsPattern("reserved peak .* 0 B")
                .contains("the same at the reserved peak; more of it is live at the in-use peak")
                .doesNotContain("No difference");
    }

    /** {@code iterations} with an array of their own each, before which an input was made that stays. */
    private static void inputs(Path file, int iterations, long bytes) throws IOException {
        MemoryLedger ledger = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> owner.category());
        int input = ledger.owners().idOf(new Owner("net", "", Phase.NONE, Category.INPUT, ""));
        int conv = ledger.owners().idOf(new Owner("net", "conv", Phase.FORWARD, Category.ACTIVATIONS, ""));
        TraceWriter writer = new TraceWriter(file, ledger, TraceOptions.DEFAULTS);
        ledger.addSink(writer);
        for (int i = 0; i < iterations; i++) {
            long key = 100L + i;
            int number = i;
            onThread(() -> {
                ledger.contextChanged(input);
                ledger.allocated(MemorySpace.HOST, key, 0x100000L + number * bytes, bytes, bytes);
            });
            ledger.contextChanged(conv);
            ledger.allocated(MemorySpace.HOST, 7, 0x10000, 512, 512);
            ledger.freed(7);
            ledger.iterationEnded(conv, i, 0);
        }
        ledger.removeSink(writer);
        writer.close();
    }

    private static void spareBlockThenInputs(Path file, int inputs) throws IOException {
        MemoryLedger ledger = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> owner.category());
        int input = ledger.owners().idOf(new Owner("net", "", Phase.NONE, Category.INPUT, ""));
        TraceWriter writer = new TraceWriter(file, ledger, TraceOptions.DEFAULTS);
        ledger.addSink(writer);
        WorkspaceAccount account = ledger.openAccount("WS", Thread.currentThread(), false);
        ledger.scopeEntered(account, MemorySpace.HOST);
        ThreadContext.current().beginIntent(AllocationKind.WORKSPACE_BLOCK, account);
        ledger.allocated(MemorySpace.HOST, 1, 0x1000000, 1 << 20, 1 << 20);
        ThreadContext.current().endIntent();
        ledger.freed(1);
        onThread(() -> {
            ledger.contextChanged(input);
            for (int i = 0; i < inputs; i++) {
                ledger.allocated(MemorySpace.HOST, 100 + i, 0x100000L + i * 4096L, 4096, 4096);
            }
        });
        ledger.iterationEnded(input, 0, 0);
        ledger.removeSink(writer);
        writer.close();
    }

    private static void onThread(Runnable work) {
        Thread thread = new Thread(work);
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void replay_listsAllModels() {
        assertThat(run("replay", trace.toString(), "--json")).isZero();
        JsonArray rows = JsonParser.parseString(out.toString()).getAsJsonArray();
        assertThat(rows).hasSize(8);
        long bound = rows.get(0).getAsJsonObject().get("peakReservedBytes").getAsLong();
        rows.forEach(
                row -> assertThat(row.getAsJsonObject().get("peakReservedBytes").getAsLong())
                        .isGreaterThanOrEqualTo(bound));
    }

    @Test
    void replay_drawsBars_theLongestForTheLargestPeak() {
        assertThat(run("replay", trace.toString())).isZero();
        assertThat(out.toString()).contains("# filled, . not");
        List<String> bars = Pattern.compile("[#.]{2,}")
                .matcher(out.toString())
                .results()
                .map(MatchResult::group)
                .toList();
        assertThat(bars).isNotEmpty().allMatch(bar -> bar.length() <= ReplayBar.WIDTH);
        assertThat(bars).filteredOn(bar -> bar.length() == ReplayBar.WIDTH).isNotEmpty();
    }

    @Test
    void badUse_exitsWithTwoAndSaysWhat() {
        assertThat(run("replay", trace.toString(), "--allocator", "best")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("--allocator=best", "caching");
        assertThat(run()).isEqualTo(ExitCode.USAGE);
        assertThat(run("diff", trace.toString())).isEqualTo(ExitCode.USAGE);
        assertThat(run("export", trace.toString(), "--format", "png", "-o", "x"))
                .isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("memory_viz");
    }

    @Test
    void badFile_exitsWithThreeAndSaysWhere() throws IOException {
        Path text = Files.writeString(folder.resolve("notes.txt"), "no trace at all, but long enough to look at");
        assertThat(run("summary", text.toString())).isEqualTo(ExitCode.FILE);
        assertThat(err.toString()).contains(text.toString(), "offset 0");
        assertThat(run("summary", folder.resolve("none").toString())).isEqualTo(ExitCode.FILE);
        assertThat(run(
                        "import",
                        text.toString(),
                        "--format",
                        "memory_viz",
                        "-o",
                        folder.resolve("t").toString()))
                .isEqualTo(ExitCode.FILE);
        assertThat(run(
                        "import",
                        text.toString(),
                        "--format",
                        "rmm-csv",
                        "-o",
                        folder.resolve("t").toString()))
                .isEqualTo(ExitCode.FILE);
        assertThat(err.toString()).contains("line 1", "Thread,Time,Action,Pointer,Size,Stream");
    }

    @Test
    void damagedTrace_saysWhereAndWhichOptionHelps() throws IOException {
        byte[] bytes = Files.readAllBytes(trace);
        bytes[bytes.length / 2] ^= 1;
        Path damaged = Files.write(folder.resolve("damaged.memopt"), bytes);

        assertThat(run("summary", damaged.toString())).isEqualTo(ExitCode.FILE);

        assertThat(err.toString())
                .contains(damaged.toString())
                .containsPattern("offset \\d+")
                .contains("use --skip-damage");
        assertThat(run("summary", damaged.toString(), "--skip-damage")).isZero();
    }

    @Test
    void fileThatIsNotThere_isNamedWithARemedy() {
        Path none = folder.resolve("none.csv");

        assertThat(run("plan", none.toString(), "-o", folder.resolve("o.csv").toString()))
                .isEqualTo(ExitCode.FILE);

        assertThat(err.toString()).contains("Cannot use file " + none, "no such file", "Check the path");
    }

    @Test
    void pickleThatRunsCode_isRefused() throws IOException {
        byte[] hostile =
                "\u0080\u0002cos\nsystem\nU\u0004echo\u0085R.".getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
        Path file = Files.write(folder.resolve("hostile.pickle"), hostile);

        assertThat(run(
                        "import",
                        file.toString(),
                        "--format",
                        "memory_viz",
                        "-o",
                        folder.resolve("t").toString()))
                .isEqualTo(ExitCode.FILE);
        assertThat(err.toString()).contains("offset 2", "opcode 0x63");
    }

    @Test
    void memoryViz_ofPyTorch_replaysToItsOwnCounters() throws IOException {
        Path imported = importLenet();

        TraceAnalysis analysis = TraceAnalyzer.analyze(imported);
        Peak peak = analysis.peak(Measure.IN_USE, MemorySpace.DEVICE).orElseThrow();
        assertThat(peak.bytes()).isEqualTo(TORCH_ALLOCATED);
        assertThat(analysis.iterations()).hasSize(20);
        long before = 0;
        try (TraceReader reader = new TraceReader(imported)) {
            for (MemoryEvent event : reader) {
                boolean older = reader.owner(event.owner()).network().startsWith("(before");
                before += older && event instanceof MemoryEvent.Allocate a ? a.roundedBytes() : 0;
                before -= older && event instanceof MemoryEvent.Free f ? f.roundedBytes() : 0;
            }
        }
        assertThat(before).isEqualTo(TORCH_BEFORE);

        assertThat(run("replay", imported.toString(), "--allocator", "caching", "--json"))
                .isZero();
        assertThat(JsonParser.parseString(out.toString())
                        .getAsJsonArray()
                        .get(0)
                        .getAsJsonObject()
                        .get("peakReservedBytes")
                        .getAsLong())
                .isEqualTo(TORCH_RESERVED);
    }

    @Test
    void memoryViz_thereAndBack_isTheSameTrace() throws IOException {
        Path first = importLenet();
        Path pickle = folder.resolve("again.pickle");
        Path second = folder.resolve("again.memopt");
        assertThat(run("export", first.toString(), "--format", "memory_viz", "-o", pickle.toString()))
                .isZero();
        assertThat(run("import", pickle.toString(), "--format", "memory_viz", "-o", second.toString()))
                .isZero();

        assertThat(lines(second)).isEqualTo(lines(first));
    }

    @Test
    void rmm_thereAndBack_isTheSameLog() throws IOException {
        Path log = folder.resolve("rmm.csv");
        Files.writeString(log, """
                Thread,Time,Action,Pointer,Size,Stream
                7,23:59:59.999999,allocate,0x7f0000000000,1000,0x0
                7,00:00:00.000001,allocate,0x7f0000001000,24,0x0
                8,00:00:00.500000,free,0x7f0000000000,1000,0x0
                """);
        Path imported = folder.resolve("rmm.memopt");
        Path again = folder.resolve("again.csv");
        assertThat(run("import", log.toString(), "--format", "rmm-csv", "-o", imported.toString()))
                .isZero();
        assertThat(run("export", imported.toString(), "--format", "rmm-csv", "-o", again.toString()))
                .isZero();

        assertThat(withoutTimes(again)).isEqualTo(withoutTimes(log));
        assertThat(TraceAnalyzer.analyze(imported).facts().durationNanos()).isEqualTo(500_001_000);
    }

    @Test
    void miniMalloc_loadOfTheProblem_isThePeak() throws IOException {
        Path csv = folder.resolve("problem.csv");
        assertThat(run("export", trace.toString(), "--format", "minimalloc-csv", "-o", csv.toString()))
                .isZero();

        Map<Long, Long> changes = new HashMap<>();
        List<String> lines = Files.readAllLines(csv);
        for (String line : lines.subList(1, lines.size())) {
            String[] cells = line.split(",", -1);
            long size = Long.parseLong(cells[3]);
            changes.merge(Long.parseLong(cells[1]), size, Long::sum);
            changes.merge(Long.parseLong(cells[2]), -size, Long::sum);
        }
        long load = 0;
        long most = 0;
        for (long time : changes.keySet().stream().sorted().toList()) {
            load += changes.get(time);
            most = Math.max(most, load);
        }
        assertThat(most).isEqualTo(TraceAnalyzer.analyze(trace).peakBytes(Measure.IN_USE, MemorySpace.HOST));
    }

    @Test
    void chrome_isJsonWhoseCounterReachesThePeak() throws IOException {
        Path file = folder.resolve("t.json");
        assertThat(run("export", trace.toString(), "--format", "chrome", "-o", file.toString()))
                .isZero();

        JsonArray events =
                JsonParser.parseString(Files.readString(file)).getAsJsonObject().getAsJsonArray("traceEvents");
        long most = 0;
        List<String> slices = new ArrayList<>();
        for (var element : events) {
            JsonObject event = element.getAsJsonObject();
            if (event.get("ph").getAsString().equals("C")
                    && event.get("name").getAsString().equals("in use host")) {
                most = Math.max(most, event.getAsJsonObject("args").get("bytes").getAsLong());
            } else if (event.get("ph").getAsString().equals("X")) {
                slices.add(event.get("name").getAsString());
            }
        }
        assertThat(most).isEqualTo(TraceAnalyzer.analyze(trace).peakBytes(Measure.IN_USE, MemorySpace.HOST));
        assertThat(slices).contains("iteration 0", "layer3 forward", "layer3 backward");
    }

    @Test
    void jfr_isReadByTheJdk() throws IOException {
        Path file = folder.resolve("t.jfr");
        assertThat(run("export", trace.toString(), "--format", "jfr", "-o", file.toString()))
                .isZero();

        List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals("io.memopt.TraceEvent"))
                .sorted(Comparator.comparingLong(event -> event.getLong("nanos")))
                .toList();
        assertThat(events).hasSizeGreaterThan(EVENTS);
        assertThat(events.get(0).getString("kind")).isEqualTo("ALLOCATE");
        assertThat(events.get(0).getLong("bytes")).isEqualTo(1L << 30);
    }

    @ParameterizedTest
    @ValueSource(strings = {"perfetto", "memory_viz", "rmm-csv"})
    void export_ofAnyFormat_writesAFile(String format) throws IOException {
        Path file = folder.resolve("out");
        assertThat(run("export", trace.toString(), "--format", format, "-o", file.toString()))
                .isZero();
        assertThat(Files.size(file)).isGreaterThan(10_000);
    }

    @Test
    void help_ofEachCommand_hasExamples() {
        for (String command : List.of("summary", "diff", "replay", "export", "import", "plan")) {
            assertThat(run(command, "--help")).isZero();
            assertThat(out.toString()).contains("memopt " + command);
        }
        assertThat(run("--help")).isZero();
        assertThat(out.toString()).contains("Exit codes");
    }

    private Path importLenet() throws IOException {
        Path pickle = folder.resolve("lenet.pickle");
        try (InputStream in = Objects.requireNonNull(getClass().getResourceAsStream("/memory_viz/lenet.pickle"))) {
            Files.copy(in, pickle);
        }
        Path imported = folder.resolve("lenet.memopt");
        assertThat(run("import", pickle.toString(), "--format", "memory_viz", "-o", imported.toString()))
                .isZero();
        return imported;
    }

    /** Everything that a snapshot can express: order, times from the start, sizes, addresses, stacks. */
    private static List<String> lines(Path file) throws IOException {
        List<String> lines = new ArrayList<>();
        try (TraceReader reader = new TraceReader(file)) {
            long start = reader.header().startNanos();
            for (MemoryEvent event : reader) {
                String owner = reader.owner(event.owner()).toString();
                String at = event.timeNanos() - start + " " + event.thread() + " " + owner + " ";
                if (event instanceof MemoryEvent.Allocate a) {
                    lines.add(at + a.address() + " " + a.requestedBytes() + " " + a.roundedBytes());
                } else if (event instanceof MemoryEvent.Free f) {
                    lines.add(at + f.address() + " " + f.roundedBytes() + " " + f.ageNanos());
                } else if (event instanceof MemoryEvent.Iteration i) {
                    lines.add(at + "iteration " + i.iteration());
                }
            }
        }
        lines.sort(null);
        return lines;
    }

    private static List<String> withoutTimes(Path log) throws IOException {
        return Files.readAllLines(log).stream()
                .map(line -> line.replaceAll("\\d\\d:\\d\\d:\\d\\d\\.\\d+", "T"))
                .toList();
    }

    private int run(String... args) {
        out.getBuffer().setLength(0);
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }
}
