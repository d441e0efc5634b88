// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
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
    private static final long PINNED = 0x1000;

    @TempDir
    Path folder;

    @Test
    void transfers_ofTwoThreads_tellOverlapPlaceAndTime() throws IOException {
        Path trace = folder.resolve("copies.memopt");
        OwnerTable owners = new OwnerTable();
        int forward = owners.idOf(new Owner("net", "", Phase.FORWARD, Category.OTHER, ""));
        try (TraceWriter writer = new TraceWriter(trace, owners, new WorkspaceTable(), TraceOptions.DEFAULTS)) {
            long t = writer.header().startNanos();
            int pinned = EventCode.of(EventKind.ALLOCATE, AllocationKind.DETACHED, MemorySpace.PINNED);
            writer.accept(pinned, t, TRAINING, 0, 0, PINNED, 4096, 4096);
            copy(writer, TransferDirection.HOST_TO_DEVICE, t + 10, PREFETCH, 0x9000, 100, 50);
            writer.accept(EventCode.of(EventKind.CONTEXT), t + 20, TRAINING, forward, 0, 0, 0, 0);
            copy(writer, TransferDirection.HOST_TO_DEVICE, t + 30, PREFETCH, 0x9000, 300, 150);
            copy(writer, TransferDirection.HOST_TO_DEVICE, t + 40, TRAINING, 0x9000, 600, 200);
            writer.accept(EventCode.of(EventKind.CONTEXT), t + 50, TRAINING, 0, 0, 0, 0, 0);
            copy(writer, TransferDirection.DEVICE_TO_HOST, t + 60, PREFETCH, PINNED + 4000, 64, 10);
            copy(writer, TransferDirection.DEVICE_TO_HOST, t + 100_000, PREFETCH, PINNED + 4096, 16, 10);
        }

        TraceAnalysis analysis = TraceAnalyzer.analyze(trace);

        assertThat(analysis.transfers())
                .containsExactly(
                        new TransferRow(TransferDirection.HOST_TO_DEVICE, 3, 1000, 400, 300, OptionalLong.empty()),
                        new TransferRow(TransferDirection.DEVICE_TO_HOST, 2, 80, 20, 0, OptionalLong.of(64)));
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

    private static void copy(
            TraceWriter writer, TransferDirection direction, long time, int thread, long to, long bytes, long nanos) {
        writer.accept(EventCode.transfer(direction), time, thread, 0, 0, to, bytes, nanos);
    }
}
