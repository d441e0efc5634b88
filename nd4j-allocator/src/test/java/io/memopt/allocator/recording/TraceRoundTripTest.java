// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.WorkspaceTable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TraceRoundTripTest {
    @TempDir
    Path directory;

    private final OwnerTable owners = new OwnerTable();
    private final WorkspaceTable workspaces = new WorkspaceTable();

    @ParameterizedTest(name = "seed {0}")
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void read_afterWrite_returnsEveryEventOfEveryKind(long seed) throws Exception {
        List<MemoryEvent> events = Events.drawn(new Random(seed), 20_000, owners, workspaces);
        assertThat(events.stream().map(MemoryEvent::kind).collect(Collectors.toSet()))
                .isEqualTo(EnumSet.allOf(EventKind.class));

        Path file = record(events, TraceOptions.DEFAULTS);

        try (TraceReader reader = new TraceReader(file)) {
            List<MemoryEvent> read = new ArrayList<>();
            reader.forEach(read::add);
            assertThat(read).isEqualTo(events);
            assertThat(reader.summary().isComplete()).isTrue();

            Events.Collector visited = new Events.Collector();
            assertThat(reader.read(visited).events()).isEqualTo(20_000);
            assertThat(visited.all()).isEqualTo(events);
            assertThat(visited.gaps).isEmpty();
        }
    }

    @Test
    void definitions_afterRead_nameOwnersWorkspacesAndThreads() throws Exception {
        List<MemoryEvent> events = Events.drawn(new Random(6), 5000, owners, workspaces);

        Path file = record(events, TraceOptions.DEFAULTS);

        try (TraceReader reader = new TraceReader(file)) {
            reader.read(new Events.Collector());
            for (int id = 0; id < owners.size(); id++) {
                assertThat(reader.owner(id)).isEqualTo(owners.ownerOf(id));
            }
            for (int id = 1; id <= 20; id++) {
                assertThat(reader.workspace(id)).hasValue(workspaces.get(id));
            }
            assertThat(reader.threadName(Thread.currentThread().getId()))
                    .hasValue(Thread.currentThread().getName());
            assertThat(reader.threadName(-77)).isEmpty();
            assertThat(reader.owner(4711)).isEqualTo(Owner.UNKNOWN);
        }
    }

    @Test
    void definitions_ofInstanceThatIsGone_stayInTheTrace() throws Exception {
        int id = workspaces.add("WS_GONE", Thread.currentThread(), false);
        Path file = directory.resolve("gone.memopt");
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces)) {
            writer.accept(EventCode.of(EventKind.SCOPE_ENTER), 1, 1, 0, id, 0, 0, 1);
            workspaces.remove(id);
            writer.accept(EventCode.of(EventKind.SCOPE_RELEASE), 2, 1, 0, id, 0, 0, 1);
        }

        try (TraceReader reader = new TraceReader(file)) {
            reader.read(new Events.Collector());
            assertThat(reader.workspace(id).orElseThrow().name()).isEqualTo("WS_GONE");
        }
    }

    @Test
    void definitions_withHugeNames_areCut() throws Exception {
        String huge = "\u20ac".repeat(100_000);
        Owner owner = new Owner(huge, huge, Phase.FORWARD, Category.OTHER, huge);
        Owner before = owner.withCategory(Category.INPUT);
        int id = owners.idOf(owner);
        int previous = owners.idOf(before);
        int workspace = workspaces.add(huge, new Thread(() -> {}, huge), false);
        Path file = directory.resolve("huge.memopt");
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces)) {
            int code = EventCode.of(EventKind.RECLASSIFY, AllocationKind.DETACHED, MemorySpace.HOST);
            for (int i = 0; i < 20_000; i++) {
                writer.accept(code, i, 1, id, workspace, 0, 8, previous);
            }
        }

        try (TraceReader reader = new TraceReader(file)) {
            assertThat(reader.read(new Events.Collector()).isComplete()).isTrue();
            assertThat(reader.owner(id).layer()).isEqualTo(huge.substring(0, TraceFormat.MAX_NAME_CHARS));
            assertThat(reader.owner(previous).category()).isEqualTo(Category.INPUT);
        }
    }

    @Test
    void header_afterWrite_describesItself() throws Exception {
        Instant before = Instant.now();

        Path file = record(List.of(), TraceOptions.DEFAULTS.withProperty("dl4j.version", "1.0.0-M2.1\nx=y"));

        try (TraceReader reader = new TraceReader(file)) {
            TraceHeader header = reader.header();
            assertThat(header.properties()).containsEntry("dl4j.version", "1.0.0-M2.1 x=y");
            assertThat(header.names(TraceHeader.KINDS)).containsSubsequence("ALLOCATE", "FREE", "GARBAGE_COLLECTION");
            assertThat(header.start()).isBetween(before, Instant.now());
            assertThat(header.wallClock(header.startNanos() + 5))
                    .isEqualTo(header.start().plusNanos(5));
            assertThat(reader.read(new Events.Collector()).isComplete()).isTrue();
        }
    }

    /** As a file of a version would look that numbers kinds otherwise and knows one more. */
    @Test
    void read_whenConstantsAreNumberedOtherwise_goesByName() throws Exception {
        Path file = record(
                List.of(new MemoryEvent.Context(1, 2, 0), new MemoryEvent.Iteration(2, 2, 0, 7, 1)),
                TraceOptions.DEFAULTS);
        byte[] bytes = Files.readAllBytes(file);
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        String renamed =
                text.replace(",CONTEXT,ITERATION,", ",NOVELTY,CONTEXT__,").replace("CONTEXT__", "ITERATION");
        assertThat(renamed).hasSameSizeAs(text).isNotEqualTo(text);
        byte[] patched = renamed.getBytes(StandardCharsets.ISO_8859_1);
        fixHeaderCrc(patched);
        Files.write(file, patched);

        try (TraceReader reader = new TraceReader(file)) {
            Events.Collector read = new Events.Collector();
            TraceSummary summary = reader.read(read);
            assertThat(read.all()).containsExactly(new MemoryEvent.Iteration(2, 2, 0, 7, 1));
            assertThat(summary.unknownEvents()).isEqualTo(1);
            assertThat(summary.isComplete()).isFalse();
        }
    }

    /** The mix of a training loop: mostly arrays in workspaces, some detached, scopes, transfers; 100 layers. */
    @Test
    void size_ofRealisticMix_isUnderSixteenBytesAnEvent() throws Exception {
        MemoryLedger ledger = new MemoryLedger(owners, workspaces, owner -> Category.ACTIVATIONS);
        Path file = directory.resolve("mix.memopt");
        TraceOptions options = TraceOptions.DEFAULTS.withQueueBlocks(64);
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces, options)) {
            ledger.addSink(writer);
            TrainingLoop.run(ledger, new Random(7), 100, 60);
            assertThat(writer.flush(Duration.ofSeconds(30))).isTrue();
            assertThat(writer.lostEvents()).isZero();
            double perEvent = (double) writer.writtenBytes() / writer.acceptedEvents();
            System.out.printf("trace: %d events, %.2f B/event%n", writer.acceptedEvents(), perEvent);
            assertThat(perEvent).isLessThan(16);
        }
    }

    /** Written by the recorder of format version 1. */
    @Test
    void read_ofVersion1_givesItsEvents() throws Exception {
        Path old = Path.of(
                TraceRoundTripTest.class.getResource("/golden/version1.memopt").toURI());
        List<MemoryEvent> events = new ArrayList<>();
        try (TraceReader reader = new TraceReader(old)) {
            reader.forEach(events::add);
            assertThat(reader.header().formatVersion()).isEqualTo(1);
            assertThat(reader.summary().isComplete()).isTrue();
            assertThat(reader.owner(events.get(1).owner()).layer()).isEqualTo("conv1");
        }
        assertThat(events)
                .extracting(MemoryEvent::kind)
                .containsExactly(
                        EventKind.CONTEXT,
                        EventKind.ALLOCATE,
                        EventKind.SCOPE_ENTER,
                        EventKind.ALLOCATE,
                        EventKind.SCOPE_RELEASE,
                        EventKind.ITERATION,
                        EventKind.FREE);
    }

    @Test
    void origin_ofLargeDetachedArray_namesItsPlaceAndViews() throws Exception {
        MemoryLedger ledger = new MemoryLedger(owners, workspaces, owner -> Category.OTHER);
        List<MemoryEvent.Origin> origins = new ArrayList<>();
        Path file = directory.resolve("sites.memopt");
        try (TraceWriter writer = new TraceWriter(file, ledger, TraceOptions.DEFAULTS)) {
            ledger.addSink(writer);
            ledger.allocated(MemorySpace.HOST, 4096, 4096, 1 << 20, 1 << 20);
            ledger.viewCreated(4096, 5000);
            ledger.allocated(MemorySpace.HOST, 1, 1, 8, 8);
            ledger.tellViews();
        }
        try (TraceReader reader = new TraceReader(file)) {
            for (MemoryEvent event : reader) {
                if (event instanceof MemoryEvent.Origin origin) {
                    origins.add(origin);
                }
            }
            assertThat(origins).extracting(MemoryEvent.Origin::address).containsExactly(4096L, 4096L);
            assertThat(origins).extracting(MemoryEvent.Origin::views).containsExactly(0L, 1L);
            String site = ledger.find(4096).site();
            assertThat(reader.site(origins.get(0).site())).hasValue(site);
            assertThat(reader.site(0)).isEmpty();
        }
    }

    private static void fixHeaderCrc(byte[] file) {
        ByteBuffer buffer = ByteBuffer.wrap(file);
        int length = buffer.getInt(12);
        buffer.putInt(16, BlockHeader.crc(file, TraceFormat.PREAMBLE_BYTES, length));
    }

    private Path record(List<MemoryEvent> events, TraceOptions options) throws Exception {
        Path file = directory.resolve("trace.memopt");
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces, options)) {
            events.forEach(event -> Events.send(event, writer));
            assertThat(writer.lostEvents()).isZero();
        }
        return file;
    }
}
