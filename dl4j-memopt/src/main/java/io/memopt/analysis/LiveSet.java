// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.TraceVisitor;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Follows a trace and knows at each event which allocations are live. Arrays inside a workspace block end with the release of
 * their workspace, everything else with its own free event. Each live allocation has a slot: a number from 0 that is reused
 * after its end.
 *
 * <p>The sums equal those of {@code LiveReplay} for a trace without gaps. Behind a gap this class forgets what must have
 * ended meanwhile (an address that is handed out again, arrays of a scope that is entered again) instead of going negative.
 *
 * <p>Frees are matched by address, space and time of allocation, which a free event tells. Frees without an allocation in
 * the trace change nothing and are counted.
 *
 * <p>Memory: about 75 B for each allocation live at the same time, independent of the number of events. Cost: O(1) for each
 * event and allocation ended. Threading: confined.
 */
public final class LiveSet implements TraceVisitor {
    private static final MemorySpace[] SPACES = MemorySpace.values();
    private static final AllocationKind[] KINDS = AllocationKind.values();
    private static final int BLOCK = AllocationKind.WORKSPACE_BLOCK.ordinal();
    private static final int ARRAY = AllocationKind.WORKSPACE_ARRAY.ordinal();
    private static final int NONE = -1;
    private static final byte FREE_SLOT = -1;

    /** Hears of begins and ends. Sums and slots are up to date; a slot that ended is readable during the call. */
    public interface Listener {
        default void began(int slot) {}

        /**
         * An allocation ended.
         *
         * @param thread who freed it or released its scope; -1 when that was lost in a gap
         */
        default void ended(int slot, long timeNanos, long thread) {}

        /** The allocation belongs to {@link #owner(int)} now. */
        default void moved(int slot, int previousOwner) {}

        /** When the allocation was last used, told before its end; {@code span} as in {@code MemoryEvent.LastUse}. */
        default void lastUsed(int slot, long lastUseNanos, long span) {}

        /** Where the allocation was made, and how many views it has; as in {@code MemoryEvent.Origin}. */
        default void origin(int slot, long views, int site) {}
    }

    private final long startNanos;
    private final Listener listener;

    private final long[] inUse = new long[SPACES.length];
    private final long[] reserved = new long[SPACES.length];
    private final Map<Integer, Scope> scopes = new HashMap<>();
    private Scope lastScope = new Scope(NONE);
    private Scope earlierScope = lastScope;

    private long[] addresses = new long[64];
    private long[] requested = new long[64];
    private long[] rounded = new long[64];
    private long[] starts = new long[64];
    private long[] startEvents = new long[64];
    private long[] threads = new long[64];
    private int[] owners = new int[64];
    private int[] workspaces = new int[64];
    private int[] next = new int[64];
    private byte[] kinds = new byte[64];
    private byte[] spaces = new byte[64];
    private int used;
    private int firstFree = NONE;
    private int live;

    /** Open addressing, linear probing; slot + 1, 0 for empty. */
    private int[] table = new int[128];

    private int tableSize;

    private long event = -1;
    private boolean gapSeen;
    private boolean exact = true;
    private long unmatchedFrees;

    /**
     * An empty set.
     *
     * @param startNanos {@code TraceHeader.startNanos()}; frees of memory older than that are not expected to match
     */
    public LiveSet(long startNanos, Listener listener) {
        this.startNanos = startNanos;
        this.listener = listener;
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        event++;
        switch (EventCode.kind(code)) {
            case ALLOCATE -> allocated(code, timeNanos, thread, owner, workspace, address, bytes, extra);
            case FREE -> {
                if (EventCode.allocation(code).ordinal() == ARRAY) {
                    arrayFreed(timeNanos, thread, owner, workspace, address, bytes);
                } else {
                    freed(code, timeNanos, thread, address, bytes, timeNanos - extra);
                }
            }
            case SCOPE_RELEASE -> released(workspace, timeNanos, thread, bytes);
            case SCOPE_ENTER -> entered(workspace, timeNanos);
            case RECLASSIFY -> reclassified(code, owner, workspace, address, bytes, (int) extra);
            case ORIGIN -> origin(code, address, bytes, (int) extra);
            case LAST_USE -> lastUsed(code, workspace, address, timeNanos - bytes, extra);
            default -> {}
        }
    }

    @Override
    public void gap(long events) {
        gapSeen = true;
        exact = false;
    }

    // ---- sums

    /** Number of the event that is being told, from 0. */
    public long event() {
        return event;
    }

    public long inUseBytes(MemorySpace space) {
        return inUse[space.ordinal()];
    }

    public long reservedBytes(MemorySpace space) {
        return reserved[space.ordinal()];
    }

    /** Rounded bytes of the arrays inside the blocks of a workspace instance. */
    public long arrayBytes(int workspace) {
        Scope scope = scopes.get(workspace);
        return scope == null ? 0 : scope.bytes;
    }

    /** False after a gap and when events contradict each other. */
    public boolean isExact() {
        return exact;
    }

    public long unmatchedFrees() {
        return unmatchedFrees;
    }

    // ---- slots

    /** Number of live allocations. */
    public int size() {
        return live;
    }

    /** All live slots are below this number. */
    public int slotLimit() {
        return used;
    }

    public boolean isLive(int slot) {
        return kinds[slot] != FREE_SLOT;
    }

    public AllocationKind kind(int slot) {
        return KINDS[kinds[slot]];
    }

    public MemorySpace space(int slot) {
        return SPACES[spaces[slot]];
    }

    public long address(int slot) {
        return addresses[slot];
    }

    public long requestedBytes(int slot) {
        return requested[slot];
    }

    public long roundedBytes(int slot) {
        return rounded[slot];
    }

    public long startNanos(int slot) {
        return starts[slot];
    }

    /** Number of the event that began it. */
    public long startEvent(int slot) {
        return startEvents[slot];
    }

    public int owner(int slot) {
        return owners[slot];
    }

    public int workspace(int slot) {
        return workspaces[slot];
    }

    public long thread(int slot) {
        return threads[slot];
    }

    // ---- events

    private void allocated(
            int code, long time, long thread, int owner, int workspace, long address, long asked, long taken) {
        int kind = EventCode.allocation(code).ordinal();
        int space = EventCode.space(code).ordinal();
        if (gapSeen && kind != ARRAY && address != 0) {
            int forgotten = find(address, space, Long.MIN_VALUE);
            if (forgotten != NONE) {
                end(forgotten, time, NONE);
            }
        }
        int slot = take();
        kinds[slot] = (byte) kind;
        spaces[slot] = (byte) space;
        addresses[slot] = address;
        requested[slot] = asked;
        rounded[slot] = taken;
        starts[slot] = time;
        startEvents[slot] = event;
        threads[slot] = thread;
        owners[slot] = owner;
        workspaces[slot] = workspace;
        if (kind == ARRAY) {
            Scope scope = scopeOf(workspace);
            next[slot] = scope.first;
            scope.first = slot;
            scope.bytes += taken;
        } else {
            reserved[space] += taken;
            insert(slot);
        }
        if (kind != BLOCK) {
            inUse[space] += taken;
        }
        listener.began(slot);
    }

    private void freed(int code, long time, long thread, long address, long bytes, long start) {
        int slot = find(address, EventCode.space(code).ordinal(), start);
        if (slot == NONE) {
            unmatchedFrees++;
            exact &= start < startNanos;
            return;
        }
        exact &= rounded[slot] == bytes;
        end(slot, time, thread);
    }

    /** One array gives its bytes to another before its scope ends. */
    private void arrayFreed(long time, long thread, int owner, int workspace, long address, long bytes) {
        int slot = findArray(workspace, address, owner);
        if (slot == NONE) {
            unmatchedFrees++;
            exact &= gapSeen;
            return;
        }
        exact &= rounded[slot] == bytes;
        Scope scope = scopeOf(workspace);
        unlink(scope, slot);
        scope.bytes -= rounded[slot];
        inUse[spaces[slot]] -= rounded[slot];
        listener.ended(slot, time, thread);
        release(slot);
    }

    private void unlink(Scope scope, int slot) {
        scope.cursor = NONE;
        if (scope.first == slot) {
            scope.first = next[slot];
            return;
        }
        int before = scope.first;
        while (next[before] != slot) {
            before = next[before];
        }
        next[before] = next[slot];
    }

    private void end(int slot, long time, long thread) {
        remove(slot);
        int space = spaces[slot];
        reserved[space] -= rounded[slot];
        if (kinds[slot] != BLOCK) {
            inUse[space] -= rounded[slot];
        }
        listener.ended(slot, time, thread);
        release(slot);
    }

    private void released(int workspace, long time, long thread, long bytes) {
        Scope scope = scopes.get(workspace);
        long sum = scope == null ? 0 : scope.bytes;
        exact &= sum == bytes;
        if (scope != null) {
            endArrays(scope, time, thread);
        }
    }

    private void endArrays(Scope scope, long time, long thread) {
        int slot = scope.first;
        scope.first = NONE;
        scope.cursor = NONE;
        scope.bytes = 0;
        while (slot != NONE) {
            int following = next[slot];
            inUse[spaces[slot]] -= rounded[slot];
            listener.ended(slot, time, thread);
            release(slot);
            slot = following;
        }
    }

    private void entered(int workspace, long time) {
        if (gapSeen) {
            Scope scope = scopes.get(workspace);
            if (scope != null && !scope.circular) {
                endArrays(scope, time, NONE);
            }
        }
    }

    private void reclassified(int code, int owner, int workspace, long address, long bytes, int before) {
        boolean array = EventCode.allocation(code).ordinal() == ARRAY;
        int slot = array ? findArray(workspace, address, before) : findOwned(code, address, bytes, before);
        if (slot != NONE) {
            owners[slot] = owner;
            listener.moved(slot, before);
        }
    }

    private void origin(int code, long address, long views, int site) {
        int slot = find(address, EventCode.space(code).ordinal(), Long.MIN_VALUE);
        if (slot != NONE) {
            listener.origin(slot, views, site);
        }
    }

    private void lastUsed(int code, int workspace, long address, long lastUseNanos, long span) {
        boolean array = EventCode.allocation(code).ordinal() == ARRAY;
        int slot = array
                ? nextArray(workspace, address)
                : find(address, EventCode.space(code).ordinal(), Long.MIN_VALUE);
        if (slot != NONE) {
            listener.lastUsed(slot, lastUseNanos, span);
        }
    }

    /** The recorder tells arrays newest first, in the order of the list: the search goes on where the last one ended. */
    private int nextArray(int workspace, long address) {
        Scope scope = scopes.get(workspace);
        if (scope == null) {
            return NONE;
        }
        int slot = scope.cursor;
        while (slot != NONE && addresses[slot] != address) {
            slot = next[slot];
        }
        if (slot == NONE) {
            slot = scope.first;
            while (slot != NONE && addresses[slot] != address) {
                slot = next[slot];
            }
        }
        scope.cursor = slot == NONE ? NONE : next[slot];
        return slot;
    }

    // ---- slots

    private int take() {
        live++;
        int slot = firstFree;
        if (slot != NONE) {
            firstFree = next[slot];
            return slot;
        }
        if (used == addresses.length) {
            grow(Math.addExact(used, Math.max(64, used >> 1)));
        }
        return used++;
    }

    private void release(int slot) {
        kinds[slot] = FREE_SLOT;
        next[slot] = firstFree;
        firstFree = slot;
        live--;
    }

    private void grow(int capacity) {
        addresses = Arrays.copyOf(addresses, capacity);
        requested = Arrays.copyOf(requested, capacity);
        rounded = Arrays.copyOf(rounded, capacity);
        starts = Arrays.copyOf(starts, capacity);
        startEvents = Arrays.copyOf(startEvents, capacity);
        threads = Arrays.copyOf(threads, capacity);
        owners = Arrays.copyOf(owners, capacity);
        workspaces = Arrays.copyOf(workspaces, capacity);
        next = Arrays.copyOf(next, capacity);
        kinds = Arrays.copyOf(kinds, capacity);
        spaces = Arrays.copyOf(spaces, capacity);
    }

    private Scope scopeOf(int workspace) {
        if (lastScope.workspace != workspace) {
            // Arrays often go to two workspaces by turns.
            Scope before = lastScope;
            lastScope =
                    earlierScope.workspace == workspace ? earlierScope : scopes.computeIfAbsent(workspace, Scope::new);
            earlierScope = before;
        }
        return lastScope;
    }

    /** Marks a ring buffer: entering it again does not end its arrays. */
    void markCircular(int workspace) {
        if (workspace != WorkspaceTable.NONE) {
            scopeOf(workspace).circular = true;
        }
    }

    // ---- memory of its own, by address

    private static int hash(long address) {
        long mixed = address * 0x9e37_79b9_7f4a_7c15L;
        return (int) (mixed >>> 32);
    }

    private void insert(int slot) {
        if (2 * ++tableSize > table.length) {
            rehash();
        }
        put(slot);
    }

    private void put(int slot) {
        int mask = table.length - 1;
        int at = hash(addresses[slot]) & mask;
        while (table[at] != 0) {
            at = at + 1 & mask;
        }
        table[at] = slot + 1;
    }

    private void rehash() {
        int[] old = table;
        table = new int[old.length * 2];
        for (int entry : old) {
            if (entry != 0) {
                put(entry - 1);
            }
        }
    }

    /** The slot at an address, of the given start if there is a choice; {@code Long.MIN_VALUE} takes any. */
    private int find(long address, int space, long start) {
        int mask = table.length - 1;
        for (int at = hash(address) & mask; table[at] != 0; at = at + 1 & mask) {
            int slot = table[at] - 1;
            if (addresses[slot] == address
                    && spaces[slot] == space
                    && (starts[slot] == start || start == Long.MIN_VALUE)) {
                return slot;
            }
        }
        return NONE;
    }

    private int findOwned(int code, long address, long bytes, int owner) {
        int space = EventCode.space(code).ordinal();
        int mask = table.length - 1;
        for (int at = hash(address) & mask; table[at] != 0; at = at + 1 & mask) {
            int slot = table[at] - 1;
            if (addresses[slot] == address
                    && spaces[slot] == space
                    && owners[slot] == owner
                    && rounded[slot] == bytes) {
                return slot;
            }
        }
        return NONE;
    }

    private int findArray(int workspace, long address, int owner) {
        Scope scope = scopes.get(workspace);
        for (int slot = scope == null ? NONE : scope.first; slot != NONE; slot = next[slot]) {
            if (addresses[slot] == address && owners[slot] == owner) {
                return slot;
            }
        }
        return NONE;
    }

    /** Takes the entry out and closes the hole, so that probing needs no tombstones (Knuth, TAOCP 3, 6.4, Algorithm R). */
    private void remove(int slot) {
        int mask = table.length - 1;
        int hole = hash(addresses[slot]) & mask;
        while (table[hole] != slot + 1) {
            hole = hole + 1 & mask;
        }
        int at = hole;
        while (true) {
            at = at + 1 & mask;
            if (table[at] == 0) {
                break;
            }
            int home = hash(addresses[table[at] - 1]) & mask;
            if ((at - home & mask) >= (at - hole & mask)) {
                table[hole] = table[at];
                hole = at;
            }
        }
        table[hole] = 0;
        tableSize--;
    }

    /** The arrays inside one workspace instance, as a list through {@code next}. */
    private static final class Scope {
        private final int workspace;
        private int first = NONE;
        private int cursor = NONE;
        private long bytes;
        private boolean circular;

        Scope(int workspace) {
            this.workspace = workspace;
        }
    }
}
