// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.TraceOptions;
import io.memopt.allocator.recording.TraceWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TransferBookTest {
    private static final int TRAINING = 1;
    private static final int PREFETCH = 2;

    @TempDir
    Path folder;

    @Test
    void transfers_ofTwoThreads_tellOverlapPlaceAndTime() throws IOException {
        Path trace = folder.resolve("copies.memopt");
        OwnerTable owners = new OwnerTable();
        int forward = owners.idOf(new Owner("net", "", Phase.FORWARD, Category.OTHER, ""));
        try (TraceWriter writer = new TraceWriter(trace, owners, new WorkspaceTable(), TraceOptions.DEFAULTS)) {
            long t = writer.header().startNanos();
            copy(writer, up(MemorySpace.HOST), t + 10, PREFETCH, 100, 50);
            writer.accept(EventCode.of(EventKind.CONTEXT), t + 20, TRAINING, forward, 0, 0, 0, 0);
            copy(writer, up(MemorySpace.PINNED), t + 30, PREFETCH, 300, 150);
            copy(writer, up(MemorySpace.PINNED), t + 40, TRAINING, 600, 200);
            writer.accept(EventCode.of(EventKind.CONTEXT), t + 50, TRAINING, 0, 0, 0, 0, 0);
            copy(
                    writer,
                    EventCode.transfer(TransferDirection.DEVICE_TO_HOST, MemorySpace.PINNED),
                    t + 60,
                    PREFETCH,
                    64,
                    10);
            copy(writer, EventCode.transfer(TransferDirection.DEVICE_TO_HOST), t + 100_000, PREFETCH, 16, 10);
        }

        TraceAnalysis analysis = TraceAnalyzer.analyze(trace);

        assertThat(analysis.transfers())
                .containsExactly(
                        new TransferRow(TransferDirection.HOST_TO_DEVICE, 3, 1000, 400, 300, OptionalLong.of(900)),
                        new TransferRow(TransferDirection.DEVICE_TO_HOST, 2, 80, 20, 0, OptionalLong.empty()));
        assertThat(analysis.transfers().get(0).overlappedShare()).isEqualTo(0.3);
        assertThat(analysis.transfers().get(0).bytesPerSecond()).hasValue(2.5e9);
        assertThat(analysis.transferBins().stream()
                        .mapToLong(TransferBin::bytes)
                        .sum())
                .isEqualTo(1080);
        assertThat(analysis.transferBins()).hasSize(3);
        assertThat(analysis.transferBins().get(2).bytes()).isEqualTo(16);
        assertThat(analysis.transferBins().get(2).fromNanos())
                .isLessThanOrEqualTo(analysis.facts().startNanos() + 100_000);
    }

    private static int up(MemorySpace source) {
        return EventCode.transfer(TransferDirection.HOST_TO_DEVICE, source);
    }

    private static void copy(TraceWriter writer, int code, long time, int thread, long bytes, long nanos) {
        writer.accept(code, time, thread, 0, 0, 0x9000, bytes, nanos);
    }
}
