// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.recording.FlowCounters;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.allocator.recording.WindowPeaks;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * What the {@link MemoryLedger} knows: live and reserved bytes and their peaks, workspaces, threads, layers, flows. Rows of
 * device and pinned memory appear once there is any.
 *
 * <p>Cost of a scrape: O(owners + workspace instances), independent of the number of live arrays.
 */
public final class LedgerMetrics extends PassBinder {
    /** Detached, yet held by a network or by ND4J for good. */
    private static final Set<Category> NOT_GC_OWNED = EnumSet.of(
            Category.PARAMETERS, Category.GRADIENTS, Category.UPDATER_STATE, Category.INPUT, Category.CONSTANTS);

    private static final List<AllocationKind> KINDS = List.of(AllocationKind.values()).stream()
            .filter(AllocationKind::ownsMemory)
            .toList();

    private final MemoryLedger ledger;
    private final TrainingFigures training;
    private final WorkspaceRows workspaces;
    private final LayerRows layers;
    private final LongSupplier clock;

    /** Meters of {@code ledger}; {@code training} says which networks have a label of their own and which are gone. */
    public LedgerMetrics(MemoryLedger ledger, TrainingFigures training) {
        this(ledger, training, System::nanoTime);
    }

    LedgerMetrics(MemoryLedger ledger, TrainingFigures training, LongSupplier clock) {
        super(clock);
        this.ledger = ledger;
        this.training = training;
        this.clock = clock;
        this.workspaces = new WorkspaceRows(ledger);
        this.layers = new LayerRows(ledger, training);
    }

    @Override
    Source open() {
        PeakWindow window = ledger.openPeakWindow();
        return new Source() {
            @Override
            public void collect(Rows rows) {
                LedgerMetrics.this.collect(rows, window);
            }

            @Override
            public void close() {
                window.close();
            }
        };
    }

    /** Levels are read before peaks, so that no level exceeds its peak. */
    private void collect(Rows rows, PeakWindow window) {
        List<OwnerUsage> usage = ledger.usage();
        Collection<WorkspaceAccount> accounts = ledger.accounts();
        live(rows, usage);
        reserved(rows);
        ThreadRows.collect(rows, accounts, clock.getAsLong());
        flows(rows, ledger.flows());
        WindowPeaks peaks = window.take();
        for (MemorySpace space : MemorySpace.values()) {
            if (isActive(space)) {
                rows.put(Metric.LIVE_PEAK, peaks.inUseBytes(space), "space", lower(space));
                rows.put(Metric.RESERVED_PEAK, peaks.reservedBytes(space), "space", lower(space));
            }
        }
        workspaces.collect(rows, accounts, peaks);
        layers.collect(rows, usage, peaks);
    }

    private void live(Rows rows, List<OwnerUsage> usage) {
        rows.put(Metric.GC_OWNED, 0, "space", lower(MemorySpace.HOST));
        for (OwnerUsage owner : usage) {
            boolean removed = training.isRemoved(owner.owner().network());
            String space = lower(owner.space());
            if (owner.liveBytes() != 0 || (owner.peakBytes() > 0 && !removed)) {
                rows.add(
                        Metric.LIVE,
                        owner.liveBytes(),
                        "network",
                        training.labelOf(owner.owner().network()),
                        "category",
                        lower(owner.owner().category()),
                        "space",
                        space);
            }
            if (owner.owner().workspace().isEmpty()
                    && !NOT_GC_OWNED.contains(owner.owner().category())) {
                rows.add(Metric.GC_OWNED, owner.liveBytes(), "space", space);
            }
        }
    }

    private void reserved(Rows rows) {
        for (AllocationKind kind : KINDS) {
            for (MemorySpace space : MemorySpace.values()) {
                if (isActive(kind, space)) {
                    String[] tags = {"kind", lower(kind), "space", lower(space)};
                    rows.put(Metric.RESERVED, ledger.reservedBytes(kind, space), tags);
                    rows.put(Metric.ALLOCATIONS, ledger.flows().allocations(kind, space), tags);
                    rows.put(Metric.ALLOCATED, ledger.flows().allocatedBytes(kind, space), tags);
                    rows.put(Metric.FREED, ledger.flows().freedBytes(kind, space), tags);
                }
            }
        }
    }

    private void flows(Rows rows, FlowCounters flows) {
        for (MemorySpace space : MemorySpace.values()) {
            if (isActive(space) || flows.failures(space) > 0) {
                rows.put(Metric.ALLOCATION_FAILURES, flows.failures(space), "space", lower(space));
            }
        }
        rows.put(Metric.STREAM_SYNCHRONIZATIONS, flows.synchronizations());
        for (TransferDirection direction : TransferDirection.values()) {
            rows.put(Metric.TRANSFER, flows.transferredBytes(direction), "direction", lower(direction));
            rows.put(Metric.TINY_TRANSFERS, flows.tinyTransfers(direction), "direction", lower(direction));
            rows.put(Metric.TRANSFER_SECONDS, flows.transferNanos(direction) * 1e-9, "direction", lower(direction));
        }
    }

    private boolean isActive(MemorySpace space) {
        return KINDS.stream().anyMatch(kind -> isActive(kind, space));
    }

    private boolean isActive(AllocationKind kind, MemorySpace space) {
        return space == MemorySpace.HOST || ledger.flows().allocations(kind, space) > 0;
    }

    static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
