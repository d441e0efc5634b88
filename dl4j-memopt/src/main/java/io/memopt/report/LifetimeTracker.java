// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Turns the events that change memory into lifetimes and totals. Agrees with {@code LiveReplay}: workspace arrays end with
 * their scope, memory from before the trace is ignored when it is freed, a change of owner ends one lifetime and begins
 * another.
 *
 * <p>Memory: by live allocation.
 */
final class LifetimeTracker {
    private static final MemorySpace[] SPACES = MemorySpace.values();

    /** Hears of births and deaths, before the totals change. */
    interface Observer {
        void born(Lifetime lifetime);

        void died(Lifetime lifetime, long death, long deathEvent);

        /** What {@link #died} as {@code before} and was {@link #born} as {@code after} is one allocation. */
        void moved(Lifetime before, Lifetime after);
    }

    private final IntFunction<Owner> owners;
    private final Observer observer;
    private final List<Map<Long, Lifetime>> owned = new ArrayList<>();
    private final Map<Integer, List<Lifetime>> arrays = new HashMap<>();
    private final SpaceTotals[] totals = new SpaceTotals[SPACES.length];
    private final List<Integer> categories = new ArrayList<>();
    private long event = -1;

    LifetimeTracker(IntFunction<Owner> owners, Observer observer) {
        this.owners = owners;
        this.observer = observer;
        for (int i = 0; i < SPACES.length; i++) {
            owned.add(new HashMap<>());
            totals[i] = new SpaceTotals();
        }
    }

    /** True for events that change what is live. */
    static boolean changesMemory(int code) {
        return switch (EventCode.kind(code)) {
            case ALLOCATE, FREE, SCOPE_RELEASE, RECLASSIFY -> true;
            default -> false;
        };
    }

    /** Takes an event that {@link #changesMemory}; returns its number, counted from 0. */
    long accept(int code, long time, int owner, int workspace, long address, long bytes, long extra) {
        event++;
        switch (EventCode.kind(code)) {
            case ALLOCATE -> allocated(code, time, owner, workspace, address, extra);
            case FREE -> freed(code, time, owner, workspace, address, bytes);
            case SCOPE_RELEASE -> released(workspace, time);
            case RECLASSIFY -> reclassified(code, time, owner, address, bytes);
            default -> throw new IllegalArgumentException("code=" + code + " does not change memory");
        }
        return event;
    }

    SpaceTotals totals(MemorySpace space) {
        return totals[space.ordinal()];
    }

    int categoryOf(int owner) {
        while (categories.size() <= owner) {
            categories.add(-1);
        }
        int category = categories.get(owner);
        if (category < 0) {
            category = owners.apply(owner).category().ordinal();
            categories.set(owner, category);
        }
        return category;
    }

    /** Everything that is live now, in no particular order. */
    void forEachLive(Consumer<Lifetime> action) {
        for (Map<Long, Lifetime> space : owned) {
            for (Lifetime head : space.values()) {
                for (Lifetime lifetime = head; lifetime != null; lifetime = lifetime.twin) {
                    action.accept(lifetime);
                }
            }
        }
        arrays.values().forEach(list -> list.forEach(action));
    }

    private void allocated(int code, long time, int owner, int workspace, long address, long rounded) {
        AllocationKind kind = EventCode.allocation(code);
        MemorySpace space = EventCode.space(code);
        Lifetime lifetime = new Lifetime(kind, space, owner, workspace, address, rounded, time, event, time);
        if (kind.ownsMemory()) {
            Lifetime stale = own(lifetime);
            if (stale != null) {
                end(stale, time);
            }
        } else {
            arrays.computeIfAbsent(workspace, id -> new ArrayList<>()).add(lifetime);
        }
        begin(lifetime);
    }

    private void freed(int code, long time, int owner, int workspace, long address, long rounded) {
        Lifetime lifetime = EventCode.allocation(code).ownsMemory()
                ? disown(EventCode.space(code), address, rounded)
                : takeArray(owner, workspace, address);
        if (lifetime != null) {
            end(lifetime, time);
        }
    }

    /** An array gives its bytes to another before its scope ends; the newest at its address. */
    private @Nullable Lifetime takeArray(int owner, int workspace, long address) {
        List<Lifetime> live = arrays.getOrDefault(workspace, List.of());
        for (int i = live.size() - 1; i >= 0; i--) {
            if (live.get(i).address == address && live.get(i).owner == owner) {
                return live.remove(i);
            }
        }
        return null;
    }

    private void released(int workspace, long time) {
        List<Lifetime> ended = arrays.remove(workspace);
        if (ended != null) {
            ended.forEach(lifetime -> end(lifetime, time));
        }
    }

    private void reclassified(int code, long time, int owner, long address, long bytes) {
        Lifetime before = disown(EventCode.space(code), address, bytes);
        if (before == null) {
            return;
        }
        end(before, time);
        Lifetime after = new Lifetime(
                before.kind,
                before.space,
                owner,
                before.workspace,
                address,
                before.bytes,
                time,
                event,
                before.allocated);
        own(after);
        begin(after);
        observer.moved(before, after);
    }

    private void begin(Lifetime lifetime) {
        observer.born(lifetime);
        SpaceTotals sums = totals(lifetime.space);
        sums.reserved += lifetime.kind.ownsMemory() ? lifetime.bytes : 0;
        if (!lifetime.isBlock()) {
            sums.use(categoryOf(lifetime.owner), lifetime.bytes);
        }
    }

    private void end(Lifetime lifetime, long time) {
        observer.died(lifetime, time, event);
        SpaceTotals sums = totals(lifetime.space);
        sums.reserved -= lifetime.kind.ownsMemory() ? lifetime.bytes : 0;
        if (!lifetime.isBlock()) {
            sums.use(categoryOf(lifetime.owner), -lifetime.bytes);
        }
    }

    /** Returns what was at that address before and whose end is missing, or null. */
    private @Nullable Lifetime own(Lifetime lifetime) {
        Lifetime before = owned.get(lifetime.space.ordinal()).put(keyOf(lifetime.address, lifetime.bytes), lifetime);
        if (lifetime.address != 0) {
            return before;
        }
        lifetime.twin = before;
        return null;
    }

    private @Nullable Lifetime disown(MemorySpace space, long address, long bytes) {
        long key = keyOf(address, bytes);
        Map<Long, Lifetime> map = owned.get(space.ordinal());
        Lifetime lifetime = map.remove(key);
        if (lifetime != null && lifetime.twin != null) {
            map.put(key, lifetime.twin);
        }
        return lifetime;
    }

    private static long keyOf(long address, long bytes) {
        return address != 0 ? address : -bytes - 1;
    }
}
