// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.jfr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JfrBridgeTest {
    private static final MemorySpace HOST = MemorySpace.HOST;
    private static final List<String> NAMES =
            List.of("Allocation", "Free", "Transfer", "ScopeEnter", "ScopeRelease", "Iteration", "AllocationFailure");

    @TempDir
    Path directory;

    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.ACTIVATIONS);
    private JfrBridge bridge;

    @BeforeEach
    void open() {
        bridge = JfrBridge.open(ledger);
    }

    @AfterEach
    void close() {
        bridge.close();
        ledger.contextChanged(OwnerTable.UNKNOWN);
    }

    @Test
    void events_whenEnabled_reachTheRecordingWithTheirFields() throws Exception {
        Path file = directory.resolve("all.jfr");
        try (Recording recording = new Recording()) {
            NAMES.forEach(name -> recording.enable("io.memopt." + name));
            recording.start();
            assertThat(bridge.isAttached()).isTrue();
            oneOfEach();
            recording.stop();
            recording.dump(file);
        }

        Map<String, RecordedEvent> events = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().startsWith("io.memopt."))
                .collect(Collectors.toMap(
                        event -> event.getEventType().getName().substring("io.memopt.".length()),
                        event -> event,
                        (first, second) -> first));
        assertThat(events.keySet()).containsExactlyInAnyOrderElementsOf(NAMES);
        RecordedEvent allocation = events.get("Allocation");
        assertThat(allocation.getLong("requestedBytes")).isEqualTo(100);
        assertThat(allocation.getLong("roundedBytes")).isEqualTo(128);
        assertThat(allocation.getString("kind")).isEqualTo("DETACHED");
        assertThat(allocation.getString("space")).isEqualTo("HOST");
        assertThat(allocation.getString("network")).isEqualTo("net");
        assertThat(allocation.getString("layer")).isEqualTo("conv1");
        assertThat(allocation.getString("phase")).isEqualTo("FORWARD");
        assertThat(allocation.getString("category")).isEqualTo("ACTIVATIONS");
        assertThat(allocation.getThread().getJavaName())
                .isEqualTo(Thread.currentThread().getName());
        assertThat(allocation.getStackTrace()).isNull();
        assertThat(events.get("Free").getDuration("age")).isPositive();
        assertThat(events.get("Transfer").getDuration("waited")).isEqualTo(Duration.ofNanos(777));
        assertThat(events.get("Transfer").getString("direction")).isEqualTo("HOST_TO_DEVICE");
        assertThat(events.get("ScopeEnter").getLong("generation")).isEqualTo(1);
        assertThat(events.get("ScopeRelease").getLong("arrayBytes")).isEqualTo(64);
        assertThat(events.get("ScopeRelease").getString("workspace")).isEqualTo("WS");
        assertThat(events.get("Iteration").getLong("iteration")).isEqualTo(5);
        assertThat(events.get("AllocationFailure").getLong("requestedBytes")).isEqualTo(1L << 40);
    }

    @Test
    void types_haveOurCategory() {
        FlightRecorder.getFlightRecorder();

        assertThat(JfrTypes.ALL)
                .allSatisfy(type -> assertThat(EventType.getEventType(type).getCategoryNames())
                        .containsExactly("Memopt"))
                .extracting(type -> EventType.getEventType(type).getName())
                .containsExactlyInAnyOrderElementsOf(
                        NAMES.stream().map(name -> "io.memopt." + name).toList());
    }

    @Test
    void bridge_whenNoRecordingWantsEvents_staysDetached() throws Exception {
        assertThat(bridge.isAttached()).isFalse();

        try (Recording recording = new Recording()) {
            recording.enable("jdk.GarbageCollection");
            recording.start();

            assertThat(bridge.isAttached()).isFalse();
        }
    }

    @Test
    void bridge_whileRecordingsComeAndGo_isAttachedAsLongAsOneWantsEvents() {
        try (Recording first = new Recording();
                Recording second = new Recording()) {
            first.enable("io.memopt.Allocation");
            second.enable("io.memopt.Iteration");
            first.start();
            second.start();
            assertThat(bridge.isAttached()).isTrue();

            first.stop();
            assertThat(bridge.isAttached()).isTrue();

            second.stop();
            assertThat(bridge.isAttached()).isFalse();
        }
    }

    @Test
    void refresh_afterSettingsChanged_attaches() {
        try (Recording recording = new Recording()) {
            recording.start();
            recording.enable("io.memopt.Allocation");
            bridge.refresh();

            assertThat(bridge.isAttached()).isTrue();
        }
        assertThat(bridge.isAttached()).isFalse();
    }

    @Test
    void close_duringRecording_detachesForGood() {
        try (Recording recording = new Recording()) {
            recording.enable("io.memopt.Allocation");
            recording.start();

            bridge.close();
            bridge.close();
            assertThat(bridge.isAttached()).isFalse();
        }
        bridge.refresh();
        assertThat(bridge.isAttached()).isFalse();
    }

    @Test
    void jfrPrint_ofRecording_showsUnits() throws Exception {
        Path tool = Path.of(System.getProperty("java.home"), "bin", "jfr");
        assumeTrue(Files.isExecutable(tool), "no jfr tool in this JDK");
        Path file = directory.resolve("print.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("io.memopt.Allocation");
            recording.start();
            ledger.allocated(HOST, 1, 0x1000, 100, 2048);
            recording.stop();
            recording.dump(file);
        }

        assertThat(run(tool.toString(), "print", "--events", "io.memopt.Allocation", file.toString()))
                .contains("io.memopt.Allocation {", "requestedBytes = 100 bytes", "roundedBytes = 2.0 kB");
    }

    private void oneOfEach() {
        ledger.contextChanged(ledger.owners().idOf(new Owner("net", "conv1", Phase.FORWARD, Category.OTHER, "")));
        ledger.allocated(HOST, 1, 0x1000, 100, 128);
        ledger.freed(1);
        ledger.transferred(TransferDirection.HOST_TO_DEVICE, 0, 0, 4096, 777);
        WorkspaceAccount account = ledger.openAccount("WS", Thread.currentThread(), false);
        ledger.scopeEntered(account, HOST);
        ledger.arrayAllocated(account, HOST, 0x2000, 60, 64);
        ledger.arraysReleased(account, HOST);
        ledger.iterationEnded(0, 5, 1);
        ledger.allocationFailed(HOST, 1L << 40);
    }

    private static String run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }
}
