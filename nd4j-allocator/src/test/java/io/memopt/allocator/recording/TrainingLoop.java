// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Drives a ledger as the training of a network of equal layers does: forward, backward, update, a workspace for each. */
final class TrainingLoop {
    private static final MemorySpace HOST = MemorySpace.HOST;

    private TrainingLoop() {}

    static void run(MemoryLedger ledger, Random random, int layers, int iterations) {
        ThreadContext.current().owner(ledger.owners(), OwnerTable.UNKNOWN);
        WorkspaceAccount activations = ledger.openAccount("WS_ALL_LAYERS_ACT", Thread.currentThread(), false);
        WorkspaceAccount working = ledger.openAccount("WS_LAYER_WORKING_MEM", Thread.currentThread(), false);
        block(ledger, activations, 1, 1L << 30);
        block(ledger, working, 2, 1L << 28);
        for (int i = 0; i < iterations; i++) {
            ledger.transferred(TransferDirection.HOST_TO_DEVICE, address(random), address(random), 6_422_528, 400_000);
            ledger.scopeEntered(activations, HOST);
            long at = 0x7f10_0000_0000L;
            for (int step = 0; step < 2 * layers; step++) {
                int layer = step < layers ? step : 2 * layers - 1 - step;
                Phase phase = step < layers ? Phase.FORWARD : Phase.BACKWARD;
                ledger.contextChanged(
                        ledger.owners().idOf(new Owner("net", "layer" + layer, phase, Category.OTHER, "")));
                at = layer(ledger, activations, working, random, at);
            }
            ledger.arraysReleased(activations, HOST);
            ledger.iterationEnded(0, i, 0);
        }
    }

    private static long layer(
            MemoryLedger ledger, WorkspaceAccount activations, WorkspaceAccount working, Random random, long start) {
        long at = start;
        ledger.scopeEntered(working, HOST);
        long scratch = 0x7f20_0000_0000L;
        for (int i = 0; i < 4; i++) {
            long bytes = 4L * (1 + random.nextInt(200_000));
            ledger.arrayAllocated(working, HOST, scratch, bytes, (bytes + 7) / 8 * 8);
            scratch += (bytes + 7) / 8 * 8;
        }
        long bytes = 4L * 64 * (1 + random.nextInt(10_000));
        ledger.arrayAllocated(activations, HOST, at, bytes, bytes);
        List<Long> detached = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            long address = address(random);
            ledger.allocated(HOST, address, address, 4 + random.nextInt(5000), 8192);
            detached.add(address);
        }
        detached.forEach(ledger::freed);
        ledger.arraysReleased(working, HOST);
        return at + bytes;
    }

    private static void block(MemoryLedger ledger, WorkspaceAccount account, long key, long bytes) {
        ThreadContext.current().beginIntent(AllocationKind.WORKSPACE_BLOCK, account);
        try {
            ledger.allocated(HOST, key, key, bytes, bytes);
        } finally {
            ThreadContext.current().endIntent();
        }
    }

    private static long address(Random random) {
        return 0x7f30_0000_0000L + random.nextInt(1 << 30) * 16L;
    }
}
