// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What the ledger must know of arrays served from an arena when they end. Threading: confined to one thread. */
final class ServedArrays {
    private final @Nullable WorkspaceAccount[] accounts;
    private final long[] addresses;
    private final int[] owners;
    private final long[] bytes;
    private final long[] cycles;
    private final long[] births;

    ServedArrays(int capacity) {
        accounts = new @Nullable WorkspaceAccount[capacity];
        addresses = new long[capacity];
        owners = new int[capacity];
        bytes = new long[capacity];
        cycles = new long[capacity];
        births = new long[capacity];
    }

    /** This, or a larger one whose content is not that of this. */
    ServedArrays withRoomFor(int arrays) {
        return arrays <= owners.length ? this : new ServedArrays(arrays);
    }

    void put(int index, WorkspaceAccount account, long address, int owner, long roundedBytes) {
        accounts[index] = account;
        addresses[index] = address;
        owners[index] = owner;
        bytes[index] = roundedBytes;
        cycles[index] = account.cycle();
        births[index] = System.nanoTime();
    }

    /** Whether the scope of the array is over. */
    boolean scopeEnded(int index) {
        return Objects.requireNonNull(accounts[index]).cycle() != cycles[index];
    }

    long address(int index) {
        return addresses[index];
    }

    long roundedBytes(int index) {
        return bytes[index];
    }

    void end(MemoryLedger ledger, MemorySpace space, int index) {
        ledger.arrayReleased(
                Objects.requireNonNull(accounts[index]),
                space,
                addresses[index],
                owners[index],
                bytes[index],
                cycles[index],
                System.nanoTime() - births[index]);
    }
}
