// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.ThreadContext;
import io.memopt.allocator.recording.WorkspaceAccount;

/** Plays what the hooks would report for a small network. */
final class Driver {
    static final MemorySpace HOST = MemorySpace.HOST;

    final MemoryLedger ledger = new MemoryLedger(
            new OwnerTable(),
            new WorkspaceTable(),
            owner -> owner.layer().isEmpty() ? Category.OTHER : Category.ACTIVATIONS);
    final TrainingTimers timers;

    Driver(TrainingTimers timers) {
        this.timers = timers;
        // The context is one per thread, its owner number belongs to the ledger of the test before.
        ThreadContext.current().owner(ledger.owners(), OwnerTable.UNKNOWN);
    }

    Driver() {
        this(new TrainingTimers());
    }

    /** One of everything that has a metric. */
    void everything(String network) {
        WorkspaceAccount account = ledger.openAccount("WS_ALL_LAYERS_ACT", Thread.currentThread(), false);
        inIntent(AllocationKind.WORKSPACE_BLOCK, account, () -> ledger.allocated(HOST, 1, 1, 1000, 1024));
        ledger.scopeEntered(account, HOST);
        layer(network, "dense", Phase.FORWARD, () -> {
            ledger.arrayAllocated(account, HOST, 2, 600, 640);
            inIntent(AllocationKind.SPILL, account, () -> ledger.allocated(HOST, 3, 3, 500, 512));
        });
        ledger.arraysReleased(account, HOST);
        ledger.freed(3);
        ledger.allocated(HOST, 4, 4, 256, 256);
        ledger.adopt(HOST, 5, 5, 4096, network, Category.PARAMETERS);
        ledger.transferred(TransferDirection.HOST_TO_HOST, 4, 5, 256, 1_500);
        ledger.streamSynchronized();
        ledger.allocationFailed(HOST, 1L << 40);
        timers.iterationEnded(network, 41, 3, 20_000_000);
        timers.phaseEnded(network, Phase.FORWARD, 8_000_000);
    }

    void layer(String network, String layer, Phase phase, Runnable body) {
        int before = ThreadContext.current().owner(ledger.owners());
        ledger.contextChanged(ledger.owners().idOf(new Owner(network, layer, phase, Category.OTHER, "")));
        body.run();
        ledger.contextChanged(before);
    }

    void inIntent(AllocationKind kind, WorkspaceAccount account, Runnable body) {
        ThreadContext context = ThreadContext.current();
        context.beginIntent(kind, account);
        body.run();
        context.endIntent();
    }

    /** A detached array that comes and goes. */
    void pulse(long bytes) {
        ledger.allocated(HOST, 99, 99, bytes, bytes);
        ledger.freed(99);
    }
}
