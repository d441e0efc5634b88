// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WindowPeaks;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.Collection;

/**
 * Workspaces by name, summed over threads. The gauges of a name last as long as an instance does; its counters stay, or
 * what a short-lived instance spilled between two scrapes would never be seen.
 */
final class WorkspaceRows {
    private static final int MAX_NAMES = 64;

    private final MemoryLedger ledger;
    private final BoundedNames names = new BoundedNames(MAX_NAMES);

    WorkspaceRows(MemoryLedger ledger) {
        this.ledger = ledger;
    }

    void collect(Rows rows, Collection<WorkspaceAccount> accounts, WindowPeaks peaks) {
        rows.put(Metric.WASTED, 0, "space", LedgerMetrics.lower(MemorySpace.HOST));
        for (WorkspaceAccount account : accounts) {
            String name = names.labelOf(account.name());
            MemorySpace main = spaceOf(account);
            long filled = Math.max(account.lastCycleFilledBytes(), account.arrayBytes());
            for (MemorySpace space : MemorySpace.values()) {
                long reserved = account.reservedBytes(space);
                if (reserved > 0 || space == main) {
                    String tag = LedgerMetrics.lower(space);
                    rows.add(Metric.WORKSPACE_RESERVED, reserved, "workspace", name, "space", tag);
                    rows.add(Metric.WASTED, Math.max(0, reserved - filled), "space", tag);
                }
            }
            rows.add(
                    Metric.WORKSPACE_USED,
                    peaks.filledBytes(account),
                    "workspace",
                    name,
                    "space",
                    LedgerMetrics.lower(main));
        }
        ledger.workspaceFlows().forEach((workspace, flows) -> {
            String name = names.labelOf(workspace);
            rows.add(Metric.WORKSPACE_SPILLS, flows.spills(), "workspace", name);
            rows.add(Metric.WORKSPACE_SPILLED, flows.spilledBytes(), "workspace", name);
            rows.add(Metric.WORKSPACE_RESIZES, flows.resizes(), "workspace", name);
        });
    }

    /** Where the arrays of the workspace are: on the device if it has a block there. */
    private static MemorySpace spaceOf(WorkspaceAccount account) {
        if (account.reservedBytes(MemorySpace.DEVICE) > 0) {
            return MemorySpace.DEVICE;
        }
        boolean onlyPinned =
                account.reservedBytes(MemorySpace.PINNED) > 0 && account.reservedBytes(MemorySpace.HOST) == 0;
        return onlyPinned ? MemorySpace.PINNED : MemorySpace.HOST;
    }
}
