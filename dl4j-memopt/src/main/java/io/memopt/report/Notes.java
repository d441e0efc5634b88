// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.memopt.analysis.Residues;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Says in words what stands out in a summary: the finding, the numbers that show it, what to do. */
final class Notes {
    private static final long MIB = 1 << 20;
    private static final long GARBAGE_FROM = 64 * MIB;
    private static final long VIEWS_FROM = 16 * MIB;
    private static final long SPILLS_FROM = MIB;
    private static final String VIEW_ADVICE =
            "A view, e.g. getRow(), keeps its whole array: dup() the part that you need and let the array go.";

    private static final double IDLE_SECONDS = 60;
    private static final double ABANDONED_SECONDS = 60;

    private final RunFigures run;
    private final List<MemorySummary.WorkspaceRow> workspaces;
    private final List<MemorySummary.ThreadRow> threads;
    private final List<MemorySummary.GarbageRow> garbage;
    private final Survivors survivors;
    private final MemoryLedger ledger;
    private final List<String> notes = new ArrayList<>();

    Notes(
            RunFigures run,
            List<MemorySummary.WorkspaceRow> workspaces,
            List<MemorySummary.ThreadRow> threads,
            List<MemorySummary.GarbageRow> garbage,
            Survivors survivors,
            MemoryLedger ledger) {
        this.run = run;
        this.workspaces = workspaces;
        this.threads = threads;
        this.garbage = garbage;
        this.survivors = survivors;
        this.ledger = ledger;
    }

    List<String> all(List<String> limits) {
        notes.addAll(limits);
        notes.addAll(run.notes());
        garbage();
        views();
        survivors();
        spills();
        threads();
        prefetchers();
        failures();
        return notes;
    }

    private void garbage() {
        for (MemorySummary.GarbageRow row : garbage) {
            if (row.bytes() < GARBAGE_FROM) {
                continue;
            }
            String what = ByteSize.scaled(row.bytes()) + " in " + Count.of(row.arrays(), "detached array")
                    + " is reachable only by the"
                    + " Java garbage collector, phase " + row.phase().name().toLowerCase(Locale.ROOT)
                    + (run.networks().size() > 1 && !row.network().isEmpty() ? " of " + row.network() : "")
                    + (row.bytesPerPass() == 0 ? "" : ", growing " + ByteSize.scaled(row.bytesPerPass()) + " per pass")
                    + (row.site().isEmpty() ? "" : ", made by " + row.site()) + ". ";
            notes.add(what + remedy(row));
        }
    }

    /** What a user can do about arrays of one origin. */
    private static String remedy(MemorySummary.GarbageRow row) {
        if (Residues.isLeftBehind(row.site())) {
            return "Deeplearning4j 1.0.0-M2.1 detaches two arrays in every batch normalisation and pass."
                    + " MemOptConfig.builder().reuse(Reuse.RELEASED) has them freed as soon as they are dead.";
        }
        boolean inference = row.phase() == Phase.INFERENCE || row.phase() == Phase.EVALUATION;
        return inference
                ? "Call output(x, false, workspace) inside try (workspace ="
                        + " Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, id)), or close() the result."
                : "close() these arrays when done; the collector does not see their size.";
    }

    private void views() {
        long viewed = garbage.stream()
                .mapToLong(MemorySummary.GarbageRow::heldByViewBytes)
                .sum();
        if (viewed >= VIEWS_FROM) {
            notes.add(ByteSize.scaled(viewed) + " of detached arrays have live views. " + VIEW_ADVICE);
        }
    }

    /** ND4J gives a view that begins where its array begins no buffer of its own, so that it cannot be counted. */
    private void survivors() {
        if (survivors.bytes() >= GARBAGE_FROM) {
            notes.add(ByteSize.scaled(survivors.bytes()) + " in " + Count.of(survivors.arrays(), "detached array")
                    + ", about "
                    + ByteSize.scaled(survivors.bytes() / survivors.arrays())
                    + " each, survived a full garbage collection: something still refers to them, or to views of them. "
                    + VIEW_ADVICE);
        }
    }

    /** Large detached arrays that were older than the last full garbage collection. */
    record Survivors(long arrays, long bytes) {}

    private void spills() {
        for (MemorySummary.WorkspaceRow row : workspaces) {
            if (row.resizes() > 0 && row.spilledBytes() >= SPILLS_FROM) {
                notes.add("Workspace " + row.name() + " was resized " + Count.times(row.resizes()) + " and spilled "
                        + ByteSize.scaled(row.spilledBytes()) + " in " + Count.of(row.spills(), "array")
                        + ". An initial size of "
                        + row.maxCycleBytes() + " bytes would have avoided both.");
            }
        }
    }

    private void threads() {
        List<MemorySummary.ThreadRow> idle = threads.stream()
                .filter(row -> row.alive() && row.workspaceBytes() > 0 && row.idleSeconds() >= IDLE_SECONDS)
                .toList();
        long bytes =
                idle.stream().mapToLong(MemorySummary.ThreadRow::workspaceBytes).sum();
        if (idle.size() > 1) {
            notes.add("Workspaces belong to threads: " + idle.size() + " threads that have been idle for a minute hold "
                    + ByteSize.scaled(bytes) + ", about " + ByteSize.scaled(bytes / idle.size())
                    + " each. Use fewer threads, or destroy workspaces when a thread is done.");
        }
    }

    private void prefetchers() {
        List<WorkspaceAccount> abandoned = Prefetchers.abandoned(ledger, ABANDONED_SECONDS);
        if (!abandoned.isEmpty()) {
            long bytes = abandoned.stream()
                    .mapToLong(account -> account.reservedBytes(MemorySpace.HOST))
                    .sum();
            notes.add(Count.of(abandoned.size(), "prefetching iterator")
                    + (abandoned.size() == 1 ? " has" : " have")
                    + " not been read for a minute; such threads never end, and " + ByteSize.scaled(bytes)
                    + " stay held. Call shutdown() on an AsyncDataSetIterator that you drop.");
        }
    }

    private void failures() {
        long failures = 0;
        for (MemorySpace space : MemorySpace.values()) {
            failures += ledger.flows().failures(space);
        }
        if (failures > 0) {
            notes.add(Count.was(failures, "allocation")
                    + " refused. The last request is rarely the cause: see what was in use at" + " the peak above"
                    + (run.iterations() == 0 ? "." : ", or train with a smaller batch."));
        }
    }
}
