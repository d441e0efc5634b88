// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.TraceOptions;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlannedArenaTest {
    private static final int DETACHED = EventCode.of(EventKind.ALLOCATE, AllocationKind.DETACHED, MemorySpace.HOST);

    private static final int ARRAY = EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_ARRAY, MemorySpace.HOST);

    private static final int BLOCK = EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST);

    private static final int LAST_USE =
            EventCode.of(EventKind.LAST_USE, AllocationKind.WORKSPACE_ARRAY, MemorySpace.HOST);

    private final OwnerTable owners = new OwnerTable();
    private final WorkspaceTable workspaces = new WorkspaceTable();

    @TempDir
    Path folder;

    @Test
    void planned_ofScopesThatFollowEachOther_isTheLargerOne() throws IOException {
        Path file = folder.resolve("t.memopt");
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS)) {
            Script script = new Script(writer);
            int first = script.block(1, "A", 4096);
            int second = script.block(1, "B", 8192);
            int other = script.block(2, "A", 1024);
            script.event(1, DETACHED, 0, 1 << 30, 100, 100);
            for (int iteration = 0; iteration < 3; iteration++) {
                script.enter(1, first);
                script.array(1, first, 1000);
                script.array(1, first, 500);
                script.leave(1, first);
                script.enter(1, second);
                script.array(1, second, 2000);
                script.leave(1, second);
            }
            script.enter(2, other);
            script.array(2, other, 1);
            script.leave(2, other);
        }

        ReplayRow row = replay(file).get(0);

        // max(1024 + 512, 2016) for thread 1, 32 for thread 2, 128 outside.
        assertThat(row.allocator()).isEqualTo("planned");
        assertThat(row.peakReservedBytes()).isEqualTo(2016 + 32 + 128);
        assertThat(row.endReservedBytes()).isEqualTo(2016 + 32 + 128);
        assertThat(row.roundedAtPeakBytes()).isEqualTo(2016 + 32 + 128);
        assertThat(row.driverCalls()).isEqualTo(3);
    }

    @Test
    void planned_ofNestedScopes_isTheirSum() throws IOException {
        Path file = folder.resolve("t.memopt");
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS)) {
            Script script = new Script(writer);
            int outer = script.block(1, "A", 4096);
            int inner = script.block(1, "B", 8192);
            script.enter(1, outer);
            script.array(1, outer, 1024);
            script.enter(1, inner);
            script.array(1, inner, 2048);
            script.leave(1, inner);
            script.enter(1, inner);
            script.array(1, inner, 512);
        }

        ReplayRow row = replay(file).get(0);

        assertThat(row.peakReservedBytes()).isEqualTo(1024 + 2048);
        assertThat(row.roundedAtPeakBytes()).isEqualTo(1024 + 2048);
    }

    /** The second array is last used before the third is born, the first is not: only they share bytes. */
    @Test
    void planned_withLastUses_holdsArraysToTheirLastUseAndSaysSo() throws IOException {
        Path file = folder.resolve("t.memopt");
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS)) {
            Script script = new Script(writer);
            int scope = script.block(1, "A", 8192);
            script.enter(1, scope);
            long first = script.array(1, scope, 1000);
            long second = script.array(1, scope, 2000);
            long third = script.array(1, scope, 500);
            script.lastUse(1, scope, third, 1);
            script.lastUse(1, scope, second, 1);
            script.lastUse(1, scope, first, 3);
            script.leave(1, scope);
        }

        ReplayRow row = replay(file).get(0);

        assertThat(row.peakReservedBytes()).isEqualTo(1024 + 2016);
        assertThat(row.roundedAtPeakBytes()).isEqualTo(1024 + 2016);
        assertThat(row.requestedAtPeakBytes()).isEqualTo(1000 + 2000);
        assertThat(row.remark()).endsWith("; lives to the last use");
    }

    @Test
    void planned_whereSomeUsesAreUnknown_keepsThoseToTheEndOfTheirScope() throws IOException {
        Path file = folder.resolve("t.memopt");
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS)) {
            Script script = new Script(writer);
            int scope = script.block(1, "A", 8192);
            script.enter(1, scope);
            script.array(1, scope, 1024);
            long second = script.array(1, scope, 2048);
            script.array(1, scope, 512);
            script.lastUse(1, scope, second, 1);
            script.leave(1, scope);
        }

        ReplayRow row = replay(file).get(0);

        assertThat(row.peakReservedBytes()).isEqualTo(1024 + 2048);
        assertThat(row.remark()).contains("lives to the last use, of 2 arrays to the end of their scopes");
    }

    @Test
    void planned_withoutLastUses_saysSo() throws IOException {
        Path file = folder.resolve("t.memopt");
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS)) {
            Script script = new Script(writer);
            int scope = script.block(1, "A", 8192);
            script.array(1, scope, 1024);
            script.leave(1, scope);
        }

        assertThat(replay(file).get(0).remark()).contains("to the end of scopes, for the trace has no last uses");
    }

    @Test
    void planned_ofSpilledArrays_putsThemIntoTheArena() throws IOException {
        Path file = folder.resolve("t.memopt");
        int spill = EventCode.of(EventKind.ALLOCATE, AllocationKind.SPILL, MemorySpace.HOST);
        try (TraceWriter writer = new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS)) {
            Script script = new Script(writer);
            int scope = script.block(1, "A", 1024);
            script.array(1, scope, 1024);
            script.event(1, spill, scope, 1 << 30, 2048, 2048);
        }

        ReplayRow row = replay(file).get(0);

        assertThat(row.peakReservedBytes()).isEqualTo(1024 + 2048);
        assertThat(row.driverCalls()).isOne();
    }

    @Test
    void planned_ofAThreadThatNeverLeavesItsWorkspaces_isCutIntoStretches() throws IOException {
        Path file = folder.resolve("t.memopt");
        try (TraceWriter writer =
                new TraceWriter(file, owners, workspaces, TraceOptions.DEFAULTS.withQueueBlocks(1024))) {
            Script script = new Script(writer);
            int outer = script.block(1, "A", 1024);
            int inner = script.block(1, "B", 1024);
            script.array(1, outer, 1024);
            for (int i = 0; i < 200_100; i++) {
                script.array(1, inner, 64);
                script.leave(1, inner);
            }
            assertThat(writer.lostEvents()).isZero();
        }

        assertThat(replay(file).get(0).peakReservedBytes()).isEqualTo(1024 + 64);
    }

    private static List<ReplayRow> replay(Path file) throws IOException {
        try (TraceReader reader = new TraceReader(file)) {
            return TraceReplay.replay(reader, List.of(Allocators.PLANNED), MemorySpace.HOST, events -> {});
        }
    }

    /** Events of a hand-written trace, a microsecond apart. */
    private final class Script {
        private final TraceWriter writer;
        private long now;
        private long address = 1L << 40;

        Script(TraceWriter writer) {
            this.writer = writer;
            now = writer.header().startNanos();
        }

        int block(long thread, String name, long bytes) {
            int id = workspaces.add(name, Thread.currentThread(), false);
            event(thread, BLOCK, id, 1L << (50 + id), bytes, bytes);
            return id;
        }

        void enter(long thread, int workspace) {
            event(thread, EventCode.of(EventKind.SCOPE_ENTER), workspace, 0, 4096, 1);
        }

        void leave(long thread, int workspace) {
            event(thread, EventCode.of(EventKind.SCOPE_RELEASE), workspace, 0, 0, 4096);
        }

        /** Returns where it lies. */
        long array(long thread, int workspace, long bytes) {
            event(thread, ARRAY, workspace, address, bytes, (bytes + 31) / 32 * 32);
            address += 1 << 20;
            return address - (1 << 20);
        }

        void lastUse(long thread, int workspace, long at, long span) {
            event(thread, LAST_USE, workspace, at, 0, span);
        }

        void event(long thread, int code, int workspace, long at, long bytes, long extra) {
            now += 1000;
            writer.accept(code, now, thread, 0, workspace, at, bytes, extra);
        }
    }
}
