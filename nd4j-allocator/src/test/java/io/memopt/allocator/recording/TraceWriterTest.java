// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TraceWriterTest {
    private static final int ITERATION = EventCode.of(EventKind.ITERATION);
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir
    Path directory;

    private final OwnerTable owners = new OwnerTable();
    private final WorkspaceTable workspaces = new WorkspaceTable();

    @Test
    void constructor_whenPathIsDirectory_refuses() {
        assertRefused(directory, "it is a directory", "training.memopt");
    }

    @Test
    void constructor_whenParentIsMissing_refuses() {
        assertRefused(directory.resolve("no/trace.memopt"), "does not exist", "Create " + directory.resolve("no"));
    }

    @Test
    void constructor_whenNotWritable_refuses() {
        assertRefused(Path.of("/proc/trace.memopt"), "/proc/trace.memopt", "permissions");
    }

    @Test
    void constructor_whenDeviceIsFull_refuses() {
        assumeTrue(Files.exists(Path.of("/dev/full")));
        assertRefused(Path.of("/dev/full"), "No space left", "Free space");
    }

    @Test
    void constructor_whenAnotherWriterIsOpen_refusesAndLeavesItsFile() throws Exception {
        Path file = directory.resolve("shared.memopt");
        try (TraceWriter first = new TraceWriter(file, owners, workspaces)) {
            send(first, 0, 10);
            assertRefused(file, "another recording", "path of its own");
        }
        assertThat(readAll(file).all()).hasSize(10);
    }

    @Test
    void constructor_whenFileExists_overwritesIt() throws Exception {
        Path file = directory.resolve("old.memopt");
        Files.write(file, new byte[1_000_000]);

        try (TraceWriter writer = new TraceWriter(file, owners, workspaces)) {
            send(writer, 0, 3);
        }

        assertThat(readAll(file).all()).hasSize(3);
        assertThat(Files.size(file)).isLessThan(10_000);
    }

    @ParameterizedTest
    @ValueSource(strings = {"flushInterval", "queueBlocks", "maxBytes"})
    void options_whenOutOfRange_areRefusedByName(String option) {
        assertThatThrownBy(() -> {
                    switch (option) {
                        case "flushInterval" -> TraceOptions.DEFAULTS.withFlushInterval(Duration.ZERO);
                        case "queueBlocks" -> TraceOptions.DEFAULTS.withQueueBlocks(0);
                        default -> TraceOptions.DEFAULTS.withMaxBytes(1);
                    }
                })
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(option + "=");
    }

    @Test
    void close_whenCalledTwice_doesNothingMoreAndEventsAreIgnored() throws Exception {
        Path file = directory.resolve("twice.memopt");
        TraceWriter writer = new TraceWriter(file, owners, workspaces);
        send(writer, 0, 100);

        writer.close();
        writer.close();
        send(writer, 0, 100);

        assertThat(writer.state()).isEqualTo(TraceWriter.State.CLOSED);
        assertThat(writer.failure()).isEmpty();
        assertThat(writer.acceptedEvents()).isEqualTo(100);
        assertThat(writer.writtenBytes()).isEqualTo(Files.size(file));
        assertThat(readAll(file).all()).hasSize(100);
    }

    @Test
    void close_whenInterrupted_stillDrainsAndKeepsTheInterrupt() throws Exception {
        Path file = directory.resolve("interrupted.memopt");
        Thread.currentThread().interrupt();
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces)) {
            send(writer, 0, 100_000);
        }

        assertThat(Thread.interrupted()).isTrue();
        assertThat(readAll(file).all()).hasSize(100_000);
    }

    @Test
    void flush_whenReturned_makesEventsReadable() throws Exception {
        Path file = directory.resolve("flushed.memopt");
        TraceOptions options = TraceOptions.DEFAULTS.withFlushInterval(Duration.ofHours(1));
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces, options)) {
            send(writer, 0, 50);
            assertThat(writer.flush(PATIENCE)).isTrue();

            try (TraceReader reader = new TraceReader(file)) {
                TraceSummary summary = reader.read(new Events.Collector());
                assertThat(summary.events()).isEqualTo(50);
                assertThat(summary.ending()).isEqualTo(TraceSummary.Ending.OPEN);
                assertThat(summary.truncatedAt()).isEmpty();
            }
            assertThat(writer.flush(PATIENCE)).isTrue();
        }
    }

    @Test
    void flushInterval_whenPassed_writesAPartBlockByItself() throws Exception {
        SlowOutput output = new SlowOutput();
        TraceOptions options = TraceOptions.DEFAULTS.withFlushInterval(Duration.ofMillis(5));
        output.permits.release(1000);
        try (TraceWriter writer = new TraceWriter(directory, owners, workspaces, options, output)) {
            send(writer, 0, 3);
            output.wrote.acquire(2);
            assertThat(output.writes).hasSize(2);
        }
    }

    @Test
    void queue_whenFull_dropsBlocksCountsThemAndShowsTheGap() throws Exception {
        SlowOutput output = new SlowOutput();
        output.permits.release(1);
        TraceOptions options = TraceOptions.DEFAULTS.withQueueBlocks(2).withFlushInterval(Duration.ofHours(1));
        List<MemoryEvent> events = Events.drawn(new Random(5), 40_000, owners, workspaces);
        TraceWriter writer = new TraceWriter(directory, owners, workspaces, options, output);
        events.forEach(event -> Events.send(event, writer));
        long lost = writer.lostEvents();
        output.permits.release(1000);
        assertThat(writer.flush(PATIENCE)).isTrue();
        events.subList(0, 1000).forEach(event -> Events.send(event, writer));
        writer.close();
        Path file = directory.resolve("gap.memopt");
        Files.write(file, output.bytes());

        assertThat(lost).isPositive().isLessThan(40_000);
        assertThat(writer.lostEvents()).isEqualTo(lost);
        assertThat(writer.acceptedEvents()).isEqualTo(41_000);
        try (TraceReader reader = new TraceReader(file)) {
            Events.Collector read = new Events.Collector();
            TraceSummary summary = reader.read(read);
            assertThat(summary.lostEvents()).isEqualTo(lost);
            assertThat(summary.events()).isEqualTo(41_000 - lost);
            assertThat(summary.isComplete()).isFalse();
            assertThat(read.gaps.stream().mapToLong(Long::longValue).sum()).isEqualTo(lost);
            List<MemoryEvent> all = read.all();
            assertThat(all.subList(all.size() - 1000, all.size())).isEqualTo(events.subList(0, 1000));
        }
    }

    @Test
    void device_whenFillingUp_stopsRecordingButNotTheCaller() throws Exception {
        SlowOutput output = new SlowOutput();
        output.permits.release(1_000_000);
        output.failAfter = 200_000;
        List<MemoryEvent> events = Events.drawn(new Random(5), 40_000, owners, workspaces);
        TraceWriter writer = new TraceWriter(directory, owners, workspaces, TraceOptions.DEFAULTS, output);
        events.forEach(event -> Events.send(event, writer));
        assertThat(writer.flush(PATIENCE)).isFalse();
        writer.close();
        Path file = directory.resolve("full.memopt");
        Files.write(file, output.bytes());

        assertThat(writer.state()).isEqualTo(TraceWriter.State.FAILED);
        assertThat(writer.failure()).get().extracting(Throwable::getMessage).isEqualTo("No space left on device");
        try (TraceReader reader = new TraceReader(file)) {
            Events.Collector read = new Events.Collector();
            TraceSummary summary = reader.read(read);
            assertThat(read.all())
                    .isNotEmpty()
                    .isEqualTo(events.subList(0, read.all().size()));
            assertThat(summary.truncatedAt()).isEmpty();
            assertThat(summary.ending()).isEqualTo(TraceSummary.Ending.OPEN);
            assertThat(summary.events() + writer.lostEvents()).isEqualTo(writer.acceptedEvents());
        }
    }

    /** A real one: needs the right to mount, so it is skipped for ordinary users. */
    @Test
    void tmpfs_whenFillingUp_leavesAReadableTrace() throws Exception {
        Path mount = Files.createDirectory(directory.resolve("tiny"));
        assumeTrue(run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mount.toString()) == 0, "cannot mount");
        try {
            List<MemoryEvent> events = Events.drawn(new Random(5), 40_000, owners, workspaces);
            TraceWriter writer = new TraceWriter(mount.resolve("t.memopt"), owners, workspaces);
            events.forEach(event -> Events.send(event, writer));
            writer.close();

            assertThat(writer.state()).isEqualTo(TraceWriter.State.FAILED);
            assertThat(writer.failure().orElseThrow()).hasMessageContaining("No space left");
            Events.Collector read = readAll(mount.resolve("t.memopt"));
            assertThat(read.all())
                    .isNotEmpty()
                    .isEqualTo(events.subList(0, read.all().size()));
        } finally {
            run("umount", mount.toString());
        }
    }

    @Test
    void maxBytes_whenReached_stopsWithAMarkAndWithinTheLimit() throws Exception {
        Path file = directory.resolve("limit.memopt");
        long limit = 200_000;
        List<MemoryEvent> events = Events.drawn(new Random(5), 40_000, owners, workspaces);
        TraceWriter writer = new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS.withMaxBytes(limit));
        events.forEach(event -> Events.send(event, writer));
        writer.close();

        assertThat(writer.state()).isEqualTo(TraceWriter.State.LIMIT_REACHED);
        assertThat(writer.failure()).isEmpty();
        assertThat(Files.size(file)).isBetween(limit / 2, limit);
        try (TraceReader reader = new TraceReader(file)) {
            TraceSummary summary = reader.read(new Events.Collector());
            assertThat(summary.ending()).isEqualTo(TraceSummary.Ending.LIMIT_REACHED);
            assertThat(summary.lostEvents()).isEqualTo(writer.lostEvents()).isPositive();
            assertThat(summary.events() + summary.lostEvents()).isEqualTo(writer.acceptedEvents());
        }
    }

    @Test
    void definitions_inLongTrace_areRepeated() throws Exception {
        Path file = directory.resolve("long.memopt");
        List<MemoryEvent> events = Events.drawn(new Random(5), 100_000, owners, workspaces);
        try (TraceWriter writer =
                new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS.withQueueBlocks(64))) {
            events.forEach(event -> Events.send(event, writer));
        }

        int fresh = 0;
        try (TraceInput input = new TraceInput(file)) {
            for (long at = input.firstBlock(); at < input.length(); ) {
                BlockHeader block = input.header(at);
                fresh += block.has(TraceFormat.FRESH_DEFINITIONS) ? 1 : 0;
                at += TraceFormat.BLOCK_HEADER_BYTES + block.payloadBytes();
            }
        }
        assertThat(Files.size(file)).isGreaterThan(2L << 20);
        assertThat(fresh).isEqualTo((int) (Files.size(file) >> 20) + 1);
    }

    @ParameterizedTest(name = "seed {0}")
    @ValueSource(longs = {1, 2, 3})
    void accept_fromManyThreads_keepsEachThreadsOrderAndLosesNothing(long seed) throws Exception {
        Path file = directory.resolve("threads.memopt");
        Random random = new Random(seed);
        int threads = 2 + random.nextInt(3);
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try (TraceWriter writer =
                new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS.withQueueBlocks(256))) {
            List<Future<?>> running = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                int thread = t;
                running.add(pool.submit(() -> {
                    for (int i = 0; i < 30_000; i++) {
                        writer.accept(ITERATION, System.nanoTime(), thread, 0, 0, 0, i, ~(long) i);
                    }
                }));
            }
            for (Future<?> future : running) {
                future.get();
            }
        } finally {
            pool.shutdownNow();
        }

        long[] next = new long[threads];
        for (MemoryEvent event : readAll(file).all()) {
            MemoryEvent.Iteration it = (MemoryEvent.Iteration) event;
            assertThat(it.iteration()).isEqualTo(next[(int) it.thread()]++);
            assertThat(it.epoch()).isEqualTo(~it.iteration());
        }
        assertThat(next).containsOnly(30_000);
    }

    private void assertRefused(Path path, String reason, String remedy) {
        assertThatThrownBy(() -> new TraceWriter(path, owners, workspaces))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("Cannot record to " + path)
                .hasMessageContaining(reason)
                .hasMessageContaining(remedy);
    }

    private static void send(TraceWriter writer, int from, int to) {
        for (int i = from; i < to; i++) {
            writer.accept(ITERATION, i, 1, 0, 0, 0, i, 0);
        }
    }

    private static Events.Collector readAll(Path file) throws IOException {
        try (TraceReader reader = new TraceReader(file)) {
            Events.Collector read = new Events.Collector();
            reader.read(read);
            return read;
        }
    }

    private static int run(String... command) throws Exception {
        return new ProcessBuilder(command).redirectErrorStream(true).start().waitFor();
    }

    /** Writes only as fast as it gets permits, and fails at a given size. */
    private static final class SlowOutput implements TraceOutput {
        final Semaphore permits = new Semaphore(0);
        final Semaphore wrote = new Semaphore(0);
        final List<byte[]> writes = new ArrayList<>();
        long failAfter = Long.MAX_VALUE;
        private byte[] content = new byte[0];

        @Override
        public void write(byte[] bytes, int length) throws IOException {
            permits.acquireUninterruptibly();
            int fits = (int) Math.min(length, failAfter - content.length);
            byte[] longer = Arrays.copyOf(content, content.length + fits);
            System.arraycopy(bytes, 0, longer, content.length, fits);
            content = longer;
            writes.add(bytes);
            wrote.release();
            if (fits < length) {
                throw new IOException("No space left on device");
            }
        }

        @Override
        public void truncate(long length) {
            content = Arrays.copyOf(content, (int) length);
        }

        @Override
        public void close() {}

        byte[] bytes() {
            return content;
        }
    }
}
