// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.MemoryLimits;
import io.memopt.allocator.recording.ProcessMemory;
import io.memopt.oom.ExhaustionReport;
import io.memopt.oom.MemoryState;
import io.memopt.oom.MemoryState.Holder;
import io.memopt.report.MemorySummary;
import io.memopt.report.SummaryBuilder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Reads the books for {@link MemOpt#explain}. */
final class Explanation {
    /** What has a row of its own although it is detached; other detached arrays are told by their site. */
    private static final Set<Category> BY_CATEGORY =
            Set.of(Category.PARAMETERS, Category.GRADIENTS, Category.UPDATER_STATE, Category.INPUT, Category.CONSTANTS);

    private Explanation() {}

    static String of(Throwable failure, MemoryLedger ledger) {
        return ExhaustionReport.render(failure, state(ledger), ByteSize::scaled);
    }

    /** Who holds memory now, and what limits there are. */
    static MemoryState state(MemoryLedger ledger) {
        MemoryLimits limits = MemoryLimits.current();
        ProcessMemory process = ProcessMemory.now();
        MemorySummary summary = SummaryBuilder.of(ledger, new RunTimes(ledger, () -> 0, () -> 0), List.of());
        long tensors = 0;
        for (MemorySpace space : MemorySpace.values()) {
            tensors += ledger.reservedBytes(AllocationKind.DETACHED, space);
        }
        return new MemoryState(
                process.residentBytes(),
                tensors,
                summary.reservedBytes() - tensors,
                process.heapCommittedBytes(),
                limits.heapBytes(),
                limits.javacppMaxPhysicalBytes(),
                limits.javacppMaxBytes(),
                holders(summary));
    }

    private static List<Holder> holders(MemorySummary summary) {
        List<Holder> holders = new ArrayList<>();
        for (MemorySummary.GarbageRow row : summary.garbage()) {
            String site = row.site().isEmpty() ? "" : ", made by " + row.site();
            holders.add(new Holder(Count.of(row.arrays(), "detached array") + site, row.bytes()));
        }
        for (MemorySummary.WorkspaceRow row : summary.workspaces()) {
            holders.add(new Holder(
                    "workspace " + row.name() + " of " + Count.of(row.instances(), "thread"), row.reservedBytes()));
        }
        for (Map.Entry<Category, Long> entry : summary.liveByCategory().entrySet()) {
            if (BY_CATEGORY.contains(entry.getKey())) {
                String name = entry.getKey().name().toLowerCase(Locale.ROOT).replace('_', ' ');
                holders.add(new Holder(name + " of networks", entry.getValue()));
            }
        }
        holders.removeIf(holder -> holder.bytes() == 0);
        holders.sort(Comparator.comparingLong(Holder::bytes).reversed().thenComparing(Holder::what));
        return holders;
    }
}
