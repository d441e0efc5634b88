// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.analysis.Measure;
import io.memopt.analysis.TraceAnalyzer;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Exports are read by what they are for: the JDK's own {@code jfr}, Python's {@code pickle}, Perfetto's schema. */
class ForeignReadersTest {
    private static final long EVENTS = 5_000;

    @TempDir
    Path folder;

    private Path trace = Path.of("");

    @BeforeEach
    void writeTrace() throws IOException {
        trace = folder.resolve("t.memopt");
        BigTrace.write(trace, EVENTS);
    }

    @Test
    void jfr_isPrintedByTheToolOfTheJdk() throws Exception {
        Path file = export("jfr");
        String jfr = Path.of(System.getProperty("java.home"), "bin", "jfr").toString();

        String printed = run(jfr, "print", "--events", "io.memopt.TraceEvent", file.toString());

        assertThat(printed.split("io.memopt.TraceEvent \\{", -1)).hasSizeGreaterThan((int) EVENTS);
        assertThat(printed).contains("kind = \"ALLOCATE\"", "bytes = ");
    }

    /** The structure that {@code torch.cuda.memory._snapshot()} documents: segments, and a list of events for each device. */
    @Test
    void memoryViz_isLoadedByPython_andItsEventsReachThePeak() throws Exception {
        assumeTrue(
                Files.isExecutable(Path.of("/usr/bin/python3")) || onPath("python3"),
                "no python3 to read pickles with");
        Path file = export("memory_viz");

        String peak = run("python3", "-c", """
                import pickle, sys
                snapshot = pickle.load(open(sys.argv[1], 'rb'))
                assert isinstance(snapshot['segments'], list), 'segments'
                now = peak = 0
                for events in snapshot['device_traces']:
                    for event in events:
                        assert {'action', 'addr', 'size', 'stream', 'frames'} <= event.keys(), event
                        if event['action'] == 'alloc':
                            now += event['size']
                        elif event['action'] == 'free_completed':
                            now -= event['size']
                        peak = max(peak, now)
                print(peak)
                """, file.toString());

        // A snapshot has sizes as requested, of which the peak may lie at another moment.
        assertThat(Long.parseLong(peak.strip())).isEqualTo(requestedPeak());
    }

    private long requestedPeak() throws IOException {
        Map<Long, Long> live = new HashMap<>();
        Map<Integer, Map<Long, Long>> scopes = new HashMap<>();
        long now = 0;
        long most = 0;
        try (TraceReader reader = new TraceReader(trace)) {
            for (MemoryEvent event : reader) {
                if (event instanceof MemoryEvent.Allocate a && a.allocation() != AllocationKind.WORKSPACE_BLOCK) {
                    boolean inBlock = a.allocation() == AllocationKind.WORKSPACE_ARRAY;
                    (inBlock ? scopes.computeIfAbsent(a.workspace(), id -> new HashMap<>()) : live)
                            .put(a.address(), a.requestedBytes());
                    now += a.requestedBytes();
                } else if (event instanceof MemoryEvent.Free f) {
                    now -= live.remove(f.address());
                } else if (event instanceof MemoryEvent.ScopeRelease release) {
                    Map<Long, Long> ended = scopes.getOrDefault(release.workspace(), Map.of());
                    now -= ended.values().stream().mapToLong(Long::longValue).sum();
                    scopes.remove(release.workspace());
                }
                most = Math.max(most, now);
            }
        }
        return most;
    }

    /**
     * Field numbers as in Perfetto's {@code trace_packet.proto}, {@code track_descriptor.proto} and {@code track_event.proto},
     * written down here apart from the exporter.
     */
    @Test
    void perfetto_followsTheSchema_andItsCounterReachesThePeak() throws Exception {
        Map<Long, String> counters = new HashMap<>();
        Map<Long, String> tracks = new HashMap<>();
        Map<Long, Deque<String>> open = new HashMap<>();
        Map<Long, Long> latest = new HashMap<>();
        Map<String, Long> most = new HashMap<>();
        for (Proto packet : new Proto(Files.readAllBytes(export("perfetto"))).messages(1)) {
            assertThat(packet.number(10)).as("trusted_packet_sequence_id").isPositive();
            if (packet.has(60)) {
                Proto track = packet.message(60);
                assertThat(tracks.put(track.number(1), track.has(2) ? track.text(2) : "process"))
                        .as("uuid")
                        .isNull();
                if (track.has(8)) {
                    assertThat(track.message(8).number(3)).as("UNIT_SIZE_BYTES").isEqualTo(3);
                    counters.put(track.number(1), track.text(2));
                }
                assertThat(track.has(3) || tracks.containsKey(track.number(5)))
                        .as("parent_uuid")
                        .isTrue();
                continue;
            }
            Proto event = packet.message(11);
            long uuid = event.number(11);
            assertThat(tracks).containsKey(uuid);
            assertThat(packet.number(8)).as("timestamp").isGreaterThanOrEqualTo(latest.getOrDefault(uuid, 0L));
            latest.put(uuid, packet.number(8));
            switch ((int) event.number(9)) {
                case 1 -> open.computeIfAbsent(uuid, id -> new ArrayDeque<>()).push(event.text(23));
                case 2 -> assertThat(open.get(uuid).pop()).isNotEmpty();
                case 3 -> assertThat(event.text(23)).isNotEmpty();
                case 4 -> most.merge(counters.get(uuid), event.number(30), Math::max);
                default -> throw new AssertionError("type " + event.number(9));
            }
        }

        assertThat(open.values()).allMatch(Deque::isEmpty);
        assertThat(most.get("in use host"))
                .isEqualTo(TraceAnalyzer.analyze(trace).peakBytes(Measure.IN_USE, MemorySpace.HOST));
    }

    private Path export(String format) {
        Path file = folder.resolve("out." + format);
        StringWriter err = new StringWriter();
        int code = Main.run(
                new PrintWriter(new StringWriter()),
                new PrintWriter(err, true),
                "export",
                trace.toString(),
                "--format",
                format,
                "-o",
                file.toString());
        assertThat(code).as(err.toString()).isZero();
        return file;
    }

    private static boolean onPath(String program) {
        return java.util.Arrays.stream(System.getenv("PATH").split(java.io.File.pathSeparator))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }

    private String run(String... command) throws IOException, InterruptedException {
        Path out = folder.resolve("stdout");
        Path err = folder.resolve("stderr");
        Process process = new ProcessBuilder(command)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        assertThat(process.waitFor()).as(Files.readString(err)).isZero();
        return Files.readString(out, StandardCharsets.UTF_8);
    }
}
