// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.report.MemorySummary.ThreadRow;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What takes a minute to come about by itself. */
class NotesTest {
    private static final long MIB = 1 << 20;

    @Test
    void idleThreads_withWorkspaces_areToldAsThreadsTimesSize() {
        List<String> notes = notes(
                List.of(
                        new ThreadRow("pool-1", true, 72 * MIB, 61),
                        new ThreadRow("pool-2", true, 72 * MIB, 3600),
                        new ThreadRow("busy", true, 500 * MIB, 1),
                        new ThreadRow("ended", false, 500 * MIB, 100)),
                new Notes.Survivors(0, 0));

        assertThat(notes)
                .containsExactly(
                        "Workspaces belong to threads: 2 threads that have been idle for a minute hold 144.0 MiB,"
                                + " about 72.0 MiB each. Use fewer threads, or destroy workspaces when a thread is done.");
    }

    @Test
    void oneIdleThread_orNone_isNoNote() {
        assertThat(notes(List.of(new ThreadRow("main", true, 72 * MIB, 600)), new Notes.Survivors(0, 0)))
                .isEmpty();
    }

    @Test
    void survivors_ofAFullCollection_areToldFrom64MiBOn() {
        assertThat(notes(List.of(), new Notes.Survivors(3, 64 * MIB - 1))).isEmpty();
        assertThat(notes(List.of(), new Notes.Survivors(4, 64 * MIB)))
                .singleElement()
                .asString()
                .startsWith("64.0 MiB in 4 detached arrays, about 16.0 MiB each, survived a full garbage collection:");
    }

    private static List<String> notes(List<ThreadRow> threads, Notes.Survivors survivors) {
        MemoryLedger ledger = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> owner.category());
        return new Notes(new NoRun(), List.of(), threads, List.of(), survivors, ledger).all(List.of());
    }

    private static final class NoRun implements RunFigures {
        @Override
        public Map<String, String> environment() {
            return Map.of();
        }

        @Override
        public long iterations() {
            return 0;
        }

        @Override
        public double stepMillisMedian() {
            return Double.NaN;
        }

        @Override
        public long passes(Phase phase) {
            return 0;
        }

        @Override
        public double overheadShare(long events) {
            return 0;
        }
    }
}
