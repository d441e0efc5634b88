// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.FullCollections;
import io.memopt.allocator.recording.LiveAllocation;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.MemoryLimits;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.allocator.recording.PeakMoment;
import io.memopt.allocator.recording.ProcessMemory;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/** Reads a ledger and makes a {@link MemorySummary} of it. Costs O(owners + live allocations); touches nothing. */
public final class SummaryBuilder {
    /** What belongs to a network as long as it lives; everything else that is detached waits for the collector. */
    private static final Set<Category> NETWORK_OWNED =
            Set.of(Category.PARAMETERS, Category.GRADIENTS, Category.UPDATER_STATE, Category.INPUT, Category.CONSTANTS);

    private static final long NANOS = 1_000_000_000L;

    private final MemoryLedger ledger;
    private final RunFigures run;
    private final long now = System.nanoTime();

    private SummaryBuilder(MemoryLedger ledger, RunFigures run) {
        this.ledger = ledger;
        this.run = run;
    }

    /** The summary of this moment. */
    public static MemorySummary of(MemoryLedger ledger, RunFigures run, List<MemorySummary.OperationRow> operations) {
        return new SummaryBuilder(ledger, run).build(operations);
    }

    private MemorySummary build(List<MemorySummary.OperationRow> operations) {
        List<OwnerUsage> usage = ledger.usage();
        ProcessMemory process = ProcessMemory.now();
        long reserved = 0;
        long used = 0;
        for (MemorySpace space : MemorySpace.values()) {
            reserved += ledger.reservedBytes(space);
            used += ledger.inUseBytes(space);
        }
        long offHeap = reserved - ledger.reservedBytes(MemorySpace.DEVICE);
        List<MemorySummary.WorkspaceRow> workspaces = workspaces();
        List<MemorySummary.ThreadRow> threads = threads();
        List<MemorySummary.GarbageRow> garbage = garbage();
        List<String> notes = new Notes(run, workspaces, threads, garbage, survivors(), ledger)
                .all(MemoryLimits.current().warnings(offHeap));
        return new MemorySummary(
                run.environment(),
                run.iterations(),
                run.stepMillisMedian(),
                run.extraPasses(),
                networks(usage),
                reserved,
                used,
                peak(ledger.reservedPeak()),
                peak(ledger.inUsePeak()),
                ledger.inUseByCategory(),
                flows(usage, run.usageBefore()),
                layers(usage),
                workspaces,
                threads,
                prefetchers(),
                garbage,
                run.releasedBytes(),
                operations,
                attributedShare(usage),
                process.residentBytes(),
                process.unattributedBytes(offHeap),
                run.overheadShare(ledger.events()),
                ledger.events(),
                notes,
                run.budgets());
    }

    private static MemorySummary.Peak peak(PeakMoment moment) {
        Owner owner = moment.owner();
        return new MemorySummary.Peak(
                moment.bytes(), owner.network(), owner.layer(), owner.phase(), moment.iteration(), moment.inUse());
    }

    /** Since the run began, so that they may be divided by its iterations. */
    private static List<MemorySummary.Flow> flows(List<OwnerUsage> usage, List<OwnerUsage> before) {
        Map<Category, Map<Phase, long[]>> sums = new EnumMap<>(Category.class);
        addFlows(sums, usage, 1);
        addFlows(sums, before, -1);
        List<MemorySummary.Flow> flows = new ArrayList<>();
        sums.forEach((category, phases) -> phases.forEach((phase, sum) -> {
            // Bytes allocated before may have changed their category since.
            if (sum[0] > 0 && sum[1] > 0) {
                flows.add(new MemorySummary.Flow(category, phase, sum[0], sum[1]));
            }
        }));
        return flows;
    }

    private static void addFlows(Map<Category, Map<Phase, long[]>> sums, List<OwnerUsage> usage, int sign) {
        for (OwnerUsage row : usage) {
            Owner owner = row.owner();
            if (Owner.isTrial(owner.network())) {
                continue; // their passes are none of the iterations that flows are divided by
            }
            long[] sum = sums.computeIfAbsent(owner.category(), c -> new EnumMap<>(Phase.class))
                    .computeIfAbsent(owner.phase(), p -> new long[2]);
            sum[0] += sign * row.allocatedBytes();
            sum[1] += sign * row.allocations();
        }
    }

    private List<MemorySummary.NetworkRow> networks(List<OwnerUsage> usage) {
        Map<String, Long> live = new HashMap<>();
        Map<String, Long> allocated = new HashMap<>();
        for (OwnerUsage row : usage) {
            live.merge(row.owner().network(), row.liveBytes(), Long::sum);
            allocated.merge(row.owner().network(), row.allocatedBytes(), Long::sum);
        }
        run.usageBefore().forEach(row -> allocated.merge(row.owner().network(), -row.allocatedBytes(), Long::sum));
        return run.networks().stream()
                .map(its -> new MemorySummary.NetworkRow(
                        its.network(),
                        its.iterations(),
                        its.stepMillisMedian(),
                        live.getOrDefault(its.network(), 0L),
                        Math.max(0, allocated.getOrDefault(its.network(), 0L))))
                .toList();
    }

    private static List<MemorySummary.LayerRow> layers(List<OwnerUsage> usage) {
        Map<List<Object>, Long> peaks = new LinkedHashMap<>();
        for (OwnerUsage row : usage) {
            Owner owner = row.owner();
            if (!owner.layer().isEmpty() && !Owner.isTrial(owner.network())) {
                peaks.merge(List.of(owner.network(), owner.layer(), owner.phase()), row.peakBytes(), Long::sum);
            }
        }
        List<MemorySummary.LayerRow> rows = new ArrayList<>();
        peaks.forEach((key, bytes) -> rows.add(
                new MemorySummary.LayerRow((String) key.get(0), (String) key.get(1), (Phase) key.get(2), bytes)));
        rows.sort(Comparator.comparingLong(MemorySummary.LayerRow::peakBytes).reversed());
        return rows;
    }

    private static double attributedShare(List<OwnerUsage> usage) {
        long all = 0;
        long attributed = 0;
        for (OwnerUsage row : usage) {
            all += row.allocatedBytes();
            attributed += row.owner().isAttributed() ? row.allocatedBytes() : 0;
        }
        return all == 0 ? 1 : (double) attributed / all;
    }

    private List<MemorySummary.WorkspaceRow> workspaces() {
        Map<String, List<WorkspaceAccount>> byName = new LinkedHashMap<>();
        ledger.accounts()
                .forEach(a ->
                        byName.computeIfAbsent(a.name(), n -> new ArrayList<>()).add(a));
        List<MemorySummary.WorkspaceRow> rows = new ArrayList<>();
        byName.forEach((name, accounts) -> rows.add(new MemorySummary.WorkspaceRow(
                name,
                accounts.size(),
                accounts.stream().mapToLong(SummaryBuilder::reserved).sum(),
                accounts.stream()
                        .mapToLong(WorkspaceAccount::maxCycleBytes)
                        .max()
                        .orElse(0),
                accounts.stream().mapToLong(WorkspaceAccount::spills).sum(),
                accounts.stream().mapToLong(WorkspaceAccount::spilledBytes).sum(),
                accounts.stream().mapToLong(WorkspaceAccount::resizes).sum())));
        rows.sort(Comparator.comparingLong(MemorySummary.WorkspaceRow::reservedBytes)
                .reversed()
                .thenComparing(MemorySummary.WorkspaceRow::name));
        return rows;
    }

    private List<MemorySummary.ThreadRow> threads() {
        Set<Long> alive = new HashSet<>();
        Thread.getAllStackTraces().keySet().forEach(thread -> alive.add(thread.getId()));
        Map<Long, List<WorkspaceAccount>> byThread = new LinkedHashMap<>();
        ledger.accounts()
                .forEach(a -> byThread.computeIfAbsent(a.threadId(), n -> new ArrayList<>())
                        .add(a));
        List<MemorySummary.ThreadRow> rows = new ArrayList<>();
        byThread.forEach((id, accounts) -> rows.add(new MemorySummary.ThreadRow(
                accounts.get(0).threadName(),
                alive.contains(id),
                accounts.stream().mapToLong(SummaryBuilder::reserved).sum(),
                seconds(accounts.stream()
                        .mapToLong(WorkspaceAccount::lastEnteredNanos)
                        .max()
                        .orElse(now)))));
        rows.sort(Comparator.comparingLong(MemorySummary.ThreadRow::workspaceBytes)
                .reversed());
        return rows;
    }

    private List<MemorySummary.PrefetchRow> prefetchers() {
        return ledger.accounts().stream()
                .filter(account -> account.prefetchDepth() > 0 && account.maxCycleBytes() > 0)
                .filter(account -> reserved(account) > 0)
                .map(account -> new MemorySummary.PrefetchRow(
                        account.name(),
                        account.prefetchDepth(),
                        account.maxCycleBytes(),
                        Prefetchers.expectedBytes(account.prefetchDepth(), account.maxCycleBytes()),
                        reserved(account)))
                .toList();
    }

    private static long reserved(WorkspaceAccount account) {
        long bytes = 0;
        for (MemorySpace space : MemorySpace.values()) {
            bytes += account.reservedBytes(space);
        }
        return bytes;
    }

    private Notes.Survivors survivors() {
        OptionalLong collected = FullCollections.lastStartNanos();
        long arrays = 0;
        long bytes = 0;
        for (LiveAllocation allocation : collected.isPresent() ? ledger.liveAllocations() : List.<LiveAllocation>of()) {
            boolean large = allocation.site() != null;
            if (large && isGarbage(allocation) && allocation.timeNanos() - collected.getAsLong() < 0) {
                arrays++;
                bytes += allocation.roundedBytes();
            }
        }
        return new Notes.Survivors(arrays, bytes);
    }

    private boolean isGarbage(LiveAllocation allocation) {
        Category category = ledger.owners().ownerOf(allocation.owner()).category();
        return allocation.kind() == AllocationKind.DETACHED && !NETWORK_OWNED.contains(category);
    }

    private List<MemorySummary.GarbageRow> garbage() {
        Map<List<Object>, Garbage> groups = new LinkedHashMap<>();
        for (LiveAllocation allocation : ledger.liveAllocations()) {
            Owner owner = ledger.owners().ownerOf(allocation.owner());
            if (isGarbage(allocation)) {
                String site = allocation.site() == null ? "" : allocation.site();
                groups.computeIfAbsent(
                                List.of(owner.network(), owner.phase(), site),
                                k -> new Garbage(owner.network(), owner.phase(), site))
                        .add(allocation, owner.layer(), run);
            }
        }
        return groups.values().stream()
                .map(group -> group.row(this))
                .sorted(Comparator.comparingLong(MemorySummary.GarbageRow::bytes)
                        .reversed())
                .limit(50)
                .toList();
    }

    private double seconds(long since) {
        return Math.max(0, now - since) / (double) NANOS;
    }

    /** Running sums of one origin. */
    private static final class Garbage {
        private final String network;
        private final Phase phase;
        private final String site;
        private final GarbageGrowth growth = new GarbageGrowth();
        private final Set<String> layers = new HashSet<>();
        private long arrays;
        private long bytes;
        private long viewed;
        private long oldest = Long.MAX_VALUE;

        Garbage(String network, Phase phase, String site) {
            this.network = network;
            this.phase = phase;
            this.site = site;
        }

        void add(LiveAllocation allocation, String layer, RunFigures run) {
            layers.add(layer);
            arrays++;
            bytes += allocation.roundedBytes();
            if (allocation.timeNanos() - run.startNanos() >= 0) {
                growth.add(run.passesBefore(phase, allocation.timeNanos()), allocation.roundedBytes());
            }
            viewed += allocation.views() > 0 ? allocation.roundedBytes() : 0;
            oldest = Math.min(oldest, allocation.timeNanos());
        }

        private String layerText() {
            return layers.size() == 1 ? layers.iterator().next() : layers.size() + " layers";
        }

        MemorySummary.GarbageRow row(SummaryBuilder builder) {
            return new MemorySummary.GarbageRow(
                    network,
                    phase,
                    layerText(),
                    site,
                    arrays,
                    bytes,
                    viewed,
                    builder.seconds(oldest),
                    growth.perPass(builder.run.passes(phase)));
        }
    }
}
