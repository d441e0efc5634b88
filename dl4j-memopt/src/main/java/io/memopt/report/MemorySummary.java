// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.Phase;
import io.memopt.strategy.budget.BudgetReport;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Where the memory of a run is and was, at one moment. All sizes are bytes. <em>Reserved</em> is what is held from the
 * operating system or driver, <em>in use</em> what arrays occupy of it; the difference is the free part of workspace
 * blocks. {@link #toString()} is a table for people, {@link #toJson()} the same for programs.
 *
 * @param environment versions, backend, hardware and models, as name and value
 * @param iterations training iterations seen, of all networks; extra passes are none
 * @param stepMillisMedian median of the last 4096 of them, NaN before the first
 * @param extraPasses forward and backward passes that were no iterations, by kind; kinds without any are left out
 * @param networks attached networks, and those that were and have trained
 * @param reservedBytes held now
 * @param usedBytes in use by arrays now
 * @param reservedPeak when most was held
 * @param usedPeak when most was in use
 * @param liveByCategory in use now
 * @param flows allocated bytes by category and phase since the start, without copies that were only tried
 * @param layers what each layer had in use at most, largest first
 * @param workspaces by name, all threads together, largest first
 * @param threads workspace memory by thread, largest first
 * @param prefetchers ring buffers of iterators that prefetch
 * @param garbage detached arrays that only {@code close()} or the Java garbage collector will free, largest first
 * @param releasedBytes detached arrays that were freed as soon as they were dead, since attached; 0 unless that is on
 * @param operations native temporaries of operations, largest first; empty unless that diagnostic is on
 * @param attributedShare share of all allocated bytes that carry an owner, layer or category
 * @param residentBytes resident size of the process, absent where the system does not tell
 * @param unattributedBytes resident bytes that neither the JVM nor the ledger accounts for; an estimate
 * @param overheadShare estimated share of wall time spent recording
 * @param events events recorded
 * @param notes what stands out, and what to do about it
 * @param budgets what was decided for budgets, and what came of it
 */
public record MemorySummary(
        Map<String, String> environment,
        long iterations,
        double stepMillisMedian,
        Map<ExtraPass, Long> extraPasses,
        List<NetworkRow> networks,
        long reservedBytes,
        long usedBytes,
        Peak reservedPeak,
        Peak usedPeak,
        Map<Category, Long> liveByCategory,
        List<Flow> flows,
        List<LayerRow> layers,
        List<WorkspaceRow> workspaces,
        List<ThreadRow> threads,
        List<PrefetchRow> prefetchers,
        List<GarbageRow> garbage,
        long releasedBytes,
        List<OperationRow> operations,
        double attributedShare,
        OptionalLong residentBytes,
        OptionalLong unattributedBytes,
        double overheadShare,
        long events,
        List<String> notes,
        List<BudgetReport> budgets) {

    public MemorySummary {
        environment = Map.copyOf(new TreeMap<>(environment));
        extraPasses = Map.copyOf(extraPasses);
        networks = List.copyOf(networks);
        liveByCategory = Map.copyOf(liveByCategory);
        flows = List.copyOf(flows);
        layers = List.copyOf(layers);
        workspaces = List.copyOf(workspaces);
        threads = List.copyOf(threads);
        prefetchers = List.copyOf(prefetchers);
        garbage = List.copyOf(garbage);
        operations = List.copyOf(operations);
        notes = List.copyOf(notes);
        budgets = List.copyOf(budgets);
    }

    /** The largest total, when it was, and what was in use then. */
    public record Peak(
            long bytes, String network, String layer, Phase phase, long iteration, Map<Category, Long> inUse) {
        public Peak {
            inUse = Map.copyOf(inUse);
        }
    }

    /**
     * One network.
     *
     * @param iterations seen
     * @param stepMillisMedian median of the last 4096 of them, NaN before the first
     * @param usedBytes in use now, as far as they have an owner
     * @param allocatedBytes since the start
     */
    public record NetworkRow(
            String network, long iterations, double stepMillisMedian, long usedBytes, long allocatedBytes) {}

    /** Bytes allocated for one category in one phase since the start. */
    public record Flow(Category category, Phase phase, long allocatedBytes, long allocations) {}

    /** Most bytes that one layer had in use during one phase; an upper bound where it uses several workspaces. */
    public record LayerRow(String network, String layer, Phase phase, long peakBytes) {}

    /**
     * One workspace name.
     *
     * @param instances threads that have it
     * @param reservedBytes block sizes now
     * @param maxCycleBytes largest need of one scope: with this initial size nothing would have spilled
     */
    public record WorkspaceRow(
            String name,
            int instances,
            long reservedBytes,
            long maxCycleBytes,
            long spills,
            long spilledBytes,
            long resizes) {}

    /** Workspace memory of one thread. */
    public record ThreadRow(String thread, boolean alive, long workspaceBytes, double idleSeconds) {}

    /**
     * Detached arrays of one origin that are still held.
     *
     * @param network that they were made for, {@code ""} when unknown
     * @param layer their layer, or how many layers they are of
     * @param site code that made them, {@code ""} when they were too small to look
     * @param heldByViewBytes part of the bytes whose arrays have live views: each view keeps its whole array
     * @param oldestSeconds age of the oldest
     * @param bytesPerPass what a pass of that phase leaves of them: the slope over the passes since the oldest was made; 0 with
     *     fewer than four, or when most left nothing
     */
    public record GarbageRow(
            String network,
            Phase phase,
            String layer,
            String site,
            long arrays,
            long bytes,
            long heldByViewBytes,
            double oldestSeconds,
            long bytesPerPass) {}

    /** What there is to say when nothing was observed. */
    public static MemorySummary none() {
        Peak never = new Peak(0, "", "", Phase.NONE, -1, Map.of());
        return new MemorySummary(
                Map.of(),
                0,
                Double.NaN,
                Map.of(),
                List.of(),
                0,
                0,
                never,
                never,
                Map.of(),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                0,
                List.of(),
                1,
                OptionalLong.empty(),
                OptionalLong.empty(),
                0,
                0,
                List.of("Nothing was observed: see the warning that was logged at attach,"
                        + " MemOptConfig.enabled, or the system property memopt.enabled."),
                List.of());
    }

    /**
     * The ring buffer of one prefetching iterator.
     *
     * @param depth batches that it keeps ready
     * @param batchBytes largest batch so far
     * @param expectedBytes what it needs: (depth + 3) x batch x 1.3, see {@link Prefetchers#expectedBytes}
     * @param reservedBytes what it holds now; less until it has seen its first batches
     */
    public record PrefetchRow(String name, int depth, long batchBytes, long expectedBytes, long reservedBytes) {}

    /** Largest growth of the resident size during one call of an operation. */
    public record OperationRow(String operation, long calls, long peakBytes) {}

    /** The summary as one JSON object; numbers are plain, absent figures are null. */
    public String toJson() {
        return SummaryJson.render(this);
    }

    @Override
    public String toString() {
        return SummaryText.render(this);
    }
}
