// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Traces cut short or damaged: what is whole is read, what is not is named. */
class TraceDamageTest {
    private static final int BLOCKS = 5;
    private static final int EVENTS = 12;

    @TempDir
    Path directory;

    private Path file;
    private List<MemoryEvent> events;
    private byte[] whole;
    private List<Long> offsets;

    /** Five blocks of twelve events each, and the end mark. */
    @BeforeEach
    void record() throws Exception {
        OwnerTable owners = new OwnerTable();
        WorkspaceTable workspaces = new WorkspaceTable();
        events = Events.drawn(new Random(42), BLOCKS * EVENTS, owners, workspaces);
        file = directory.resolve("trace.memopt");
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces)) {
            for (int i = 0; i < events.size(); i++) {
                Events.send(events.get(i), writer);
                if (i % EVENTS == EVENTS - 1) {
                    assertThat(writer.flush(Duration.ofSeconds(30))).isTrue();
                }
            }
        }
        whole = Files.readAllBytes(file);
        offsets = new ArrayList<>();
        try (TraceInput input = new TraceInput(file)) {
            for (long at = input.firstBlock(); at < input.length(); ) {
                offsets.add(at);
                at += TraceFormat.BLOCK_HEADER_BYTES + input.header(at).payloadBytes();
            }
        }
        assertThat(offsets).hasSize(BLOCKS + 1);
    }

    @Test
    void read_whenCutAtAnyByte_returnsTheWholeBlocks() throws Exception {
        for (int length = 0; length < whole.length; length++) {
            Files.write(file, Arrays.copyOf(whole, length));
            if (length < offsets.get(0)) {
                assertThatThrownBy(() -> new TraceReader(file).close())
                        .isInstanceOf(TraceFormatException.class)
                        .hasMessageContaining(file.toString());
                continue;
            }
            try (TraceReader reader = new TraceReader(file)) {
                Events.Collector read = new Events.Collector();
                TraceSummary summary = reader.read(read);
                int blocks = wholeBlocks(length);
                assertThat(read.all()).isEqualTo(events.subList(0, Math.min(BLOCKS, blocks) * EVENTS));
                boolean atBoundary = offsets.contains((long) length);
                assertThat(reader.truncatedAtOffset().isPresent()).isEqualTo(!atBoundary);
                if (!atBoundary) {
                    assertThat(reader.truncatedAtOffset()).hasValue(offsets.get(blocks));
                }
                assertThat(summary.isComplete()).isFalse();
            }
        }
    }

    /** Whatever bit flips: no wrong event ever comes out, and skipping costs at most the block that was hit. */
    @ParameterizedTest(name = "seed {0}")
    @ValueSource(longs = {1, 2})
    void read_whenOneBitFlips_failsOrSkipsThatBlock(long seed) throws Exception {
        Random random = new Random(seed);
        for (int i = 0; i < 400; i++) {
            int at = (int) (offsets.get(0)
                    + random.nextInt(whole.length - offsets.get(0).intValue()));
            byte[] damaged = whole.clone();
            damaged[at] ^= (byte) (1 << random.nextInt(8));
            Files.write(file, damaged);
            int block = blockOf(at);

            assertThatThrownBy(this::readStrictly)
                    .isInstanceOf(TraceFormatException.class)
                    .hasMessageContaining("at offset " + offsets.get(block))
                    .hasMessageContaining("OnCorruption.SKIP");

            try (TraceReader reader = new TraceReader(file, TraceReader.OnCorruption.SKIP)) {
                Events.Collector read = new Events.Collector();
                TraceSummary summary = reader.read(read);
                assertThat(read.corruptAt).containsExactly(offsets.get(block));
                assertThat(read.all()).isEqualTo(without(block));
                assertThat(summary.corruptBytes()).isPositive();
                assertThat(summary.isComplete()).isFalse();
                assertThat(summary.lostEvents()).isEqualTo(block < BLOCKS ? EVENTS : 0);
            }
        }
    }

    @ParameterizedTest(name = "seed {0}")
    @ValueSource(longs = {3, 4})
    void open_whenHeaderBitFlips_namesFileAndOffset(long seed) throws Exception {
        Random random = new Random(seed);
        for (int i = 0; i < 200; i++) {
            byte[] damaged = whole.clone();
            damaged[random.nextInt(offsets.get(0).intValue())] ^= (byte) (1 << random.nextInt(8));
            Files.write(file, damaged);

            assertThatThrownBy(() -> new TraceReader(file).close())
                    .isInstanceOf(TraceFormatException.class)
                    .hasMessageContaining(file.toString())
                    .hasMessageContaining("expected");
        }
    }

    @Test
    void iterator_atDamage_throwsUnchecked() throws Exception {
        byte[] damaged = whole.clone();
        damaged[offsets.get(1).intValue() + 50] ^= 1;
        Files.write(file, damaged);

        try (TraceReader reader = new TraceReader(file)) {
            List<MemoryEvent> read = new ArrayList<>();
            assertThatThrownBy(() -> reader.forEach(read::add))
                    .isInstanceOf(UncheckedIOException.class)
                    .hasCauseInstanceOf(TraceFormatException.class);
            assertThat(read).isEqualTo(events.subList(0, EVENTS));
        }
    }

    @Test
    void open_whenEmpty_saysSo() throws Exception {
        Files.write(file, new byte[0]);

        assertThatThrownBy(() -> new TraceReader(file).close())
                .isInstanceOf(TraceFormatException.class)
                .hasMessageContaining("an empty file");
    }

    @Test
    void open_whenNoTrace_saysWhatItFound() throws Exception {
        Files.write(file, new byte[] {'P', 'K', 3, 4, 0, 0, 0, 0, 0});

        assertThatThrownBy(() -> new TraceReader(file).close())
                .isInstanceOf(TraceFormatException.class)
                .hasMessageContaining("found 50 4b 03 04. This is no .memopt file.");
    }

    @Test
    void open_whenFormatIsNewer_asksForANewerVersion() throws Exception {
        byte[] newer = whole.clone();
        newer[11] = 3;
        Files.write(file, newer);

        assertThatThrownBy(() -> new TraceReader(file).close())
                .isInstanceOf(TraceFormatException.class)
                .hasMessageContaining(
                        "expected format version 1..2, found version 3. Read it with a newer dl4j-memopt.");
    }

    @Test
    void open_whenMissingOrDirectory_saysSo() {
        assertThatThrownBy(() -> new TraceReader(directory.resolve("none")).close())
                .isInstanceOf(TraceFormatException.class)
                .hasMessageContaining("found nothing");
        assertThatThrownBy(() -> new TraceReader(directory).close()).isInstanceOf(TraceFormatException.class);
    }

    private void readStrictly() throws IOException {
        try (TraceReader reader = new TraceReader(file)) {
            reader.read(new Events.Collector());
        }
    }

    private int wholeBlocks(int length) {
        int blocks = 0;
        while (blocks + 1 < offsets.size() && offsets.get(blocks + 1) <= length) {
            blocks++;
        }
        return blocks;
    }

    private int blockOf(long at) {
        return (int) offsets.stream().filter(offset -> offset <= at).count() - 1;
    }

    private List<MemoryEvent> without(int block) {
        List<MemoryEvent> rest = new ArrayList<>(events);
        if (block < BLOCKS) {
            rest.subList(block * EVENTS, (block + 1) * EVENTS).clear();
        }
        return rest;
    }
}
