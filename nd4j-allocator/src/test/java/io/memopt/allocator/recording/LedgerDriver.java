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

/** Calls the public methods of a ledger in drawn order with drawn arguments; one thread each. */
final class LedgerDriver {
    private static final MemorySpace[] SPACES = MemorySpace.values();
    private static final AllocationKind[] OWN = {
        AllocationKind.WORKSPACE_BLOCK, AllocationKind.SPILL, AllocationKind.PINNED_SPILL, AllocationKind.DETACHED
    };

    private final MemoryLedger ledger;
    private final Random random;
    private final long firstKey;
    private final List<Long> keys = new ArrayList<>();
    private final List<WorkspaceAccount> accounts = new ArrayList<>();

    LedgerDriver(MemoryLedger ledger, Random random, long firstKey) {
        this.ledger = ledger;
        this.random = random;
        this.firstKey = firstKey;
        for (int i = 0; i < 3; i++) {
            open();
        }
    }

    void steps(int n) {
        ThreadContext.current().owner(ledger.owners(), OwnerTable.UNKNOWN);
        for (int i = 0; i < n; i++) {
            step();
        }
    }

    /** Ends whatever lives. */
    void freeAll() {
        keys.forEach(ledger::freed);
        keys.clear();
        accounts.forEach(ledger::closeAccount);
        accounts.clear();
    }

    private void step() {
        switch (random.nextInt(16)) {
            case 0, 1, 2 -> allocate();
            case 3, 4 -> free();
            case 5, 6, 7 -> ledger.arrayAllocated(anyAccount(), anySpace(), address(), 1, 1 + random.nextInt(1 << 16));
            case 8 -> ledger.arraysReleased(anyAccount(), anySpace());
            case 9 -> ledger.scopeEntered(anyAccount(), anySpace());
            case 10 -> ledger.reclassify(anyKey(), "net", Category.values()[random.nextInt(10)]);
            case 11 -> ledger.contextChanged(anyOwner());
            case 12 -> ledger.resized(anyKey(), address(), 1 + random.nextInt(1 << 20));
            case 13 -> adopt();
            case 14 -> {
                WorkspaceAccount account = accounts.remove(random.nextInt(accounts.size()));
                ledger.closeAccount(account);
                open();
            }
            default -> other();
        }
    }

    private void allocate() {
        long key = random.nextInt(20) == 0 ? anyKey() : firstKey + keys.size() + random.nextInt(1000);
        AllocationKind kind = OWN[random.nextInt(OWN.length)];
        if (kind != AllocationKind.DETACHED) {
            ThreadContext.current().beginIntent(kind, anyAccount());
        }
        try {
            long bytes = 1L + random.nextInt(1 << 22);
            ledger.allocated(anySpace(), key, address(), bytes, bytes + random.nextInt(64));
        } finally {
            ThreadContext.current().endIntent();
        }
        keys.add(key);
    }

    private void adopt() {
        long key = anyKey();
        ledger.adopt(anySpace(), key, address(), 64, "old", Category.PARAMETERS);
        keys.add(key);
    }

    private void free() {
        long key = anyKey();
        keys.remove(key);
        ledger.freed(key);
    }

    private void other() {
        ledger.transferred(TransferDirection.DEVICE_TO_HOST, address(), address(), 8, 9);
        ledger.allocationFailed(anySpace(), 1L << 40);
        ledger.garbageCollected(random.nextBoolean(), 77);
        ledger.iterationEnded(0, random.nextInt(9), 0);
    }

    private void open() {
        accounts.add(ledger.openAccount("WS_" + random.nextInt(5), Thread.currentThread(), false));
    }

    private WorkspaceAccount anyAccount() {
        return accounts.get(random.nextInt(accounts.size()));
    }

    private int anyOwner() {
        Phase phase = Phase.values()[random.nextInt(8)];
        return ledger.owners().idOf(new Owner("net", "l" + random.nextInt(10), phase, Category.OTHER, ""));
    }

    private long anyKey() {
        return keys.isEmpty() ? firstKey : keys.get(random.nextInt(keys.size()));
    }

    private MemorySpace anySpace() {
        return SPACES[random.nextInt(SPACES.length)];
    }

    private long address() {
        return random.nextLong() >>> 17;
    }
}
