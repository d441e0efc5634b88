// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.use;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.AllocationSites;
import io.memopt.allocator.recording.LiveAllocation;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Knows for each live array when it was last used. Hooks tell it which native buffer object stands for which array; a use
 * names the buffer. When an array ends, its last use goes to the ledger as one event; uses themselves make none.
 *
 * <p>Arrays that were there before the book was opened are not known, their uses are ignored. Arrays in ring buffers are left
 * out: they live for a number of batches, not for a scope.
 *
 * <p>Threading: all methods may be called from any thread; no locks but the short monitor of a scope's list. Memory: about
 * 300 B for each live array and 100 B for each native buffer object that Java has not given back yet.
 */
public final class UseBook {
    private final MemoryLedger ledger;
    private final ThreadLocal<UseClock> clocks = ThreadLocal.withInitial(UseClock::new);
    private final ConcurrentHashMap<Long, ArrayUse> byAddress = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Long, ArrayUse> byBuffer = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Integer, ScopeArrays> byWorkspace = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Long, ContextArguments> byContext = new ConcurrentHashMap<>();
    private volatile @Nullable ScopeCheck check;

    /** An empty book. */
    public UseBook(MemoryLedger ledger) {
        this.ledger = ledger;
    }

    /**
     * From now on {@code newCheck} hears of arrays used after their end, and arrays remember where they are made; null for
     * nobody.
     */
    public void check(@Nullable ScopeCheck newCheck) {
        check = newCheck;
    }

    /** What hears of arrays used after their end; null for nobody. */
    public @Nullable ScopeCheck check() {
        return check;
    }

    /** Begins to collect what the calling thread places in workspaces; ends a window that it had open. */
    public UseWindow openWindow() {
        return new UseWindow(clocks.get());
    }

    // ---- births

    /** An array was placed in {@code account} by the calling thread, inside its block or, when spilled, outside. */
    public void arrayBorn(
            WorkspaceAccount account, boolean spilled, MemorySpace space, long address, long requested, long rounded) {
        if (account.circular() || address == 0) {
            return;
        }
        UseClock clock = clocks.get();
        ArrayUse array = new ArrayUse(
                clock,
                account,
                spilled ? AllocationKind.SPILL : AllocationKind.WORKSPACE_ARRAY,
                space,
                address,
                requested,
                rounded,
                ledger.currentOwner(account),
                check == null ? null : AllocationSites.here(),
                System.nanoTime());
        clock.born(array);
        byAddress.put(address, array);
        byWorkspace.computeIfAbsent(account.id(), id -> new ScopeArrays()).add(array);
    }

    /** The ledger booked a detached array behind the native buffer {@code key}. */
    public void detachedBorn(long key) {
        LiveAllocation live = ledger.find(key);
        if (live != null) {
            ArrayUse array = new ArrayUse(
                    clocks.get(),
                    null,
                    live.kind(),
                    live.space(),
                    live.address(),
                    live.requestedBytes(),
                    live.roundedBytes(),
                    live.owner(),
                    live.site(),
                    live.timeNanos());
            byBuffer.put(key, array);
        }
    }

    /** A native buffer object was laid over the array that begins at {@code address}. */
    public void bufferCreated(long key, long address) {
        map(key, byAddress.get(address));
    }

    /** A view of what stands behind {@code parent} was made. */
    public void viewCreated(long parent, long view) {
        map(view, byBuffer.get(parent));
    }

    /** The array that begins at {@code address}, if one lives there. */
    public @Nullable ArrayUse arrayAt(long address) {
        return byAddress.get(address);
    }

    private void map(long key, @Nullable ArrayUse array) {
        if (array != null) {
            byBuffer.put(key, array);
        } else {
            byBuffer.remove(key);
        }
    }

    // ---- uses

    /** A native call works on the buffer {@code key}. */
    public void used(long key) {
        ArrayUse array = byBuffer.get(key);
        if (array != null) {
            used(array);
        }
    }

    /** One element of {@code array} is read or written by Java code. */
    public void elementUsed(ArrayUse array) {
        if (array.ended()) {
            stale(array);
        } else {
            array.useElement();
        }
    }

    /** Buffer {@code key} became argument {@code index} of the operation context {@code context}. */
    public void argument(long context, boolean output, int index, long key) {
        ContextArguments arguments = byContext.computeIfAbsent(context, c -> new ContextArguments());
        ArrayUse array = byBuffer.get(key);
        arguments.put(output, index, array);
        if (array != null) {
            used(array);
        }
    }

    /** The operation of {@code context} runs: it works on all its arguments. */
    public void contextRuns(long context) {
        ContextArguments arguments = byContext.get(context);
        for (int i = 0; arguments != null && i < arguments.size(); i++) {
            ArrayUse array = arguments.get(i);
            if (array != null) {
                used(array);
            }
        }
    }

    /** The arguments of {@code context} were taken out. */
    public void contextPurged(long context) {
        ContextArguments arguments = byContext.get(context);
        if (arguments != null) {
            arguments.clear();
        }
    }

    public void contextDeleted(long context) {
        byContext.remove(context);
    }

    private void used(ArrayUse array) {
        if (array.ended()) {
            stale(array);
        } else {
            array.use();
        }
    }

    private void stale(ArrayUse array) {
        array.useLate();
        ScopeCheck listening = check;
        if (listening != null) {
            listening.usedAfterEnd(array);
        }
    }

    // ---- ends

    /** Call before the memory or the native buffer behind {@code key} is given back. */
    public void freed(long key) {
        ArrayUse behind = byBuffer.remove(key);
        if (behind != null && behind.account() == null) {
            end(behind);
        }
        ArrayUse spilled = byAddress.get(key);
        if (spilled != null && spilled.kind() == AllocationKind.SPILL) {
            end(spilled);
        }
    }

    /**
     * Call before the ledger hears that the array at {@code address} ends because another takes its bytes; its scope may be
     * open for long.
     */
    public void bytesTaken(long address) {
        ArrayUse array = byAddress.get(address);
        if (array != null) {
            tell(array);
            array.giveBytes();
        }
    }

    /** Call before the ledger hears that all arrays of {@code account} ended. */
    public void arraysReleased(WorkspaceAccount account) {
        ScopeArrays arrays = byWorkspace.get(account.id());
        if (arrays != null) {
            arrays.endAll(this::end);
        }
    }

    /** The workspace instance is gone for good. */
    public void closed(WorkspaceAccount account) {
        arraysReleased(account);
        byWorkspace.remove(account.id());
    }

    /** Tells the ledger of the last use so far of all arrays that live on: the recording ends. */
    public void tellLive() {
        byWorkspace.values().forEach(arrays -> arrays.forEach(this::tell));
        byBuffer.forEach((key, array) -> {
            if (array.account() == null && !array.ended() && ledger.find(key) != null) {
                tell(array);
            }
        });
    }

    private void end(ArrayUse array) {
        if (!array.ended()) {
            tell(array);
            array.endNow();
            byAddress.remove(array.address(), array);
        }
    }

    private void tell(ArrayUse array) {
        if (array.gaveBytes()) {
            return;
        }
        ledger.lastUsed(
                array.owner(),
                array.account(),
                array.kind(),
                array.space(),
                array.address(),
                array.lastUseNanos(),
                array.used() ? array.lastUse() - array.birth() + 1 : 0);
    }
}
