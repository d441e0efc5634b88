// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.SiteTable;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the {@link MemoryLedger} knows once the {@link Journals} are posted: live allocations, totals of owners, workspaces and
 * spaces, peaks. Each change is also handed to the {@link EventSink}s.
 *
 * <p>Threading: written under the lock of the journals only; figures may be read at any time.
 */
final class Books {
    private static final Logger log = LoggerFactory.getLogger(Books.class);
    static final int SPACES = MemorySpace.values().length;
    private static final MemorySpace[] SPACE = MemorySpace.values();
    private static final AllocationKind[] KIND = AllocationKind.values();
    private static final TransferDirection[] DIRECTION = TransferDirection.values();
    private static final Entry[] ENTRY = Entry.values();
    private static final Category[] CATEGORIES = Category.values();
    /** Live as long as their network, whoever views them; each step makes a hundred views of them. */
    private static final Set<Category> NETWORK_LONG =
            EnumSet.of(Category.PARAMETERS, Category.GRADIENTS, Category.UPDATER_STATE);

    /** A power of two. */
    private static final int RECENT = 16;

    final OwnerTable owners;
    final OwnerCache detachedOwners;
    final SiteTable siteTable = new SiteTable();
    final AddressMap<LiveAllocation> live = new AddressMap<>();
    final ViewCounts views = new ViewCounts();
    final LargeKeys large = new LargeKeys();
    final ConcurrentHashMap<Integer, WorkspaceAccount> accounts = new ConcurrentHashMap<>();
    final PeakTotal[] inUse = totals(SPACES);
    final PeakTotal[] reserved = totals(SPACES);
    final AtomicReferenceArray<@Nullable OwnerAccount> byOwner;
    final PeakMarker inUsePeak = new PeakMarker(this::categoryBytes);
    final PeakMarker reservedPeak = new PeakMarker(this::categoryBytes);
    final FlowCounters flows = new FlowCounters();
    final CopyOnWriteArrayList<EventSink> sinks = new CopyOnWriteArrayList<>();
    private final PinnedRanges pinned = new PinnedRanges();
    private final @Nullable WorkspaceAccount[] recent = new @Nullable WorkspaceAccount[RECENT];
    private long events;

    Books(OwnerTable owners, Function<Owner, Category> rule) {
        this.owners = owners;
        this.detachedOwners = new OwnerCache(owners, "", rule);
        this.byOwner = new AtomicReferenceArray<>(owners.capacity() * SPACES);
    }

    /** All that the journals had is posted. */
    void posted() {
        large.renew(views::keys);
    }

    /** Events handed to sinks so far. */
    long events() {
        return events;
    }

    void close(WorkspaceAccount account, long now, long thread) {
        release(account, account.cycle(), MemorySpace.HOST, OwnerTable.UNKNOWN, now, thread);
        accounts.remove(account.id());
        recent[account.id() & (RECENT - 1)] = null;
    }

    // ---- posting

    /** Books an entry of a journal; see {@link Entry} for what the numbers mean. */
    void post(
            long thread,
            long time,
            long details,
            long where,
            long address,
            long bytes,
            long rounded,
            long key,
            long extra) {
        Entry entry = ENTRY[Entry.ordinal(details)];
        int owner = Entry.owner(details);
        switch (entry) {
            case ALLOCATED ->
                allocated(allocation(time, details, where, address, bytes, rounded, (int) extra), key, thread);
            case FREED -> freed(key, time, thread);
            case CLASSIFIED -> {
                Owner like = owners.ownerOf(owner);
                reclassify(key, like.network(), like.category(), Entry.iteration(where), time, thread);
            }
            case VIEWED -> views.created(address, key);
            case TRANSFERRED ->
                transferred(DIRECTION[Entry.kind(details)], address, key, bytes, extra, time, thread, owner);
            case EVENT -> emit((int) rounded, time, thread, owner, Entry.workspace(where), address, bytes, extra);
            case ARRAY, ARRAY_RELEASED, ARRAYS_RELEASED, SCOPE_ENTERED -> {
                WorkspaceAccount account = accountOf(Entry.workspace(where));
                if (account != null) { // else its workspace is gone, and all that lay in it
                    inWorkspace(account, entry, thread, time, details, where, address, bytes, rounded, key, extra);
                }
            }
        }
    }

    private void inWorkspace(
            WorkspaceAccount account,
            Entry entry,
            long thread,
            long time,
            long details,
            long where,
            long address,
            long bytes,
            long rounded,
            long key,
            long extra) {
        MemorySpace space = SPACE[Entry.space(details)];
        int owner = Entry.owner(details);
        switch (entry) {
            case ARRAY -> array(account, space, owner, address, bytes, rounded, Entry.iteration(where), time, thread);
            case ARRAY_RELEASED -> arrayReleased(account, space, address, owner, rounded, key, extra, time, thread);
            case ARRAYS_RELEASED -> release(account, key, space, owner, time, thread);
            case SCOPE_ENTERED -> entered(account, space, owner, key, time, thread);
            default -> throw new IllegalArgumentException(entry + " is no matter of a workspace");
        }
    }

    private LiveAllocation allocation(
            long time, long details, long where, long address, long requested, long rounded, int site) {
        WorkspaceAccount account = accountOf(Entry.workspace(where));
        return new LiveAllocation(
                KIND[Entry.kind(details)],
                SPACE[Entry.space(details)],
                address,
                requested,
                rounded,
                Entry.elementBytes(details),
                ownerFor(account, Entry.owner(details)),
                time,
                Entry.iteration(where),
                account,
                site == 0 ? null : siteTable.siteOf(site - 1));
    }

    int ownerFor(@Nullable WorkspaceAccount account, int context) {
        return account == null ? detachedOwners.ownerFor(context) : account.ownerFor(context);
    }

    private @Nullable WorkspaceAccount accountOf(int id) {
        if (id == WorkspaceTable.NONE) {
            return null;
        }
        int slot = id & (RECENT - 1);
        WorkspaceAccount known = recent[slot];
        if (known == null || known.id() != id) {
            known = accounts.get(id);
            recent[slot] = known;
        }
        return known;
    }

    /** Memory of its own became live; what had its key ends. */
    void allocated(LiveAllocation allocation, long key, long thread) {
        LiveAllocation stale = live.put(key, allocation);
        views.allocated(key, allocation, stale);
        if (stale != null) {
            end(stale, allocation.timeNanos(), thread);
        }
        begin(allocation);
        emit(
                EventCode.of(EventKind.ALLOCATE, allocation.kind(), allocation.space()),
                allocation.timeNanos(),
                thread,
                allocation.owner(),
                idOf(allocation.account()),
                allocation.address(),
                allocation.requestedBytes(),
                allocation.roundedBytes());
        if (allocation.site() != null) {
            tellOrigin(allocation, allocation.timeNanos(), thread);
        }
    }

    /** Tells {@code sink} alone of what is there already. */
    void tellLive(EventSink sink, LiveAllocation live) {
        sink.accept(
                EventCode.of(EventKind.ALLOCATE, live.kind(), live.space()),
                System.nanoTime(),
                Thread.currentThread().getId(),
                live.owner(),
                idOf(live.account()),
                live.address(),
                live.requestedBytes(),
                live.roundedBytes());
    }

    void tellOrigin(LiveAllocation allocation, long now, long thread) {
        emit(
                EventCode.of(EventKind.ORIGIN, allocation.kind(), allocation.space()),
                now,
                thread,
                allocation.owner(),
                WorkspaceTable.NONE,
                allocation.address(),
                allocation.views(),
                siteTable.idOf(allocation.site()));
    }

    private void freed(long key, long now, long thread) {
        LiveAllocation allocation = take(key);
        if (allocation == null) {
            views.deleted(key);
        } else {
            end(allocation, now, thread);
        }
    }

    void resized(LiveAllocation before, long key, long address, long bytes, long now, ThreadContext context) {
        take(key);
        end(before, now, context.threadId());
        LiveAllocation after = new LiveAllocation(
                before.kind(),
                before.space(),
                address,
                bytes,
                bytes,
                before.elementBytes(),
                before.owner(),
                now,
                before.iteration(),
                before.account(),
                before.site());
        allocated(after, key, context.threadId());
    }

    private @Nullable LiveAllocation take(long key) {
        LiveAllocation allocation = live.remove(key);
        if (allocation != null) {
            views.freed(key, allocation);
        }
        return allocation;
    }

    private void array(
            WorkspaceAccount account,
            MemorySpace space,
            int context,
            long address,
            long requested,
            long rounded,
            long iteration,
            long now,
            long thread) {
        int owner = account.ownerFor(context);
        account.arrayAdded(owner, space, rounded);
        flows.allocated(AllocationKind.WORKSPACE_ARRAY, space, rounded);
        accountOf(owner, space).allocated(1, rounded);
        use(owner, space, rounded, iteration, now);
        int code = EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_ARRAY, space);
        emit(code, now, thread, owner, account.id(), address, requested, rounded);
    }

    private void arrayReleased(
            WorkspaceAccount account,
            MemorySpace space,
            long address,
            int owner,
            long rounded,
            long cycle,
            long ageNanos,
            long now,
            long thread) {
        if (account.arrayRemoved(owner, space, rounded, cycle)) {
            flows.freed(AllocationKind.WORKSPACE_ARRAY, space, rounded);
            unuse(owner, space, rounded);
            int code = EventCode.of(EventKind.FREE, AllocationKind.WORKSPACE_ARRAY, space);
            emit(code, now, thread, owner, account.id(), address, rounded, ageNanos);
        }
    }

    private void release(WorkspaceAccount account, long cycle, MemorySpace space, int context, long now, long thread) {
        long sum = account.releaseArrays(cycle, (owner, arraySpace, bytes) -> {
            flows.freed(AllocationKind.WORKSPACE_ARRAY, arraySpace, bytes);
            unuse(owner, arraySpace, bytes);
        });
        if (sum > 0) {
            int code = EventCode.of(EventKind.SCOPE_RELEASE);
            int owner = account.ownerFor(context);
            emit(code, now, thread, owner, account.id(), 0, sum, account.reservedBytes(space));
        }
    }

    private void entered(
            WorkspaceAccount account, MemorySpace space, int context, long generation, long now, long thread) {
        account.entered(now);
        int code = EventCode.of(EventKind.SCOPE_ENTER);
        int owner = account.ownerFor(context);
        emit(code, now, thread, owner, account.id(), 0, account.reservedBytes(space), generation);
    }

    private void transferred(
            TransferDirection direction,
            long to,
            long from,
            long bytes,
            long durationNanos,
            long now,
            long thread,
            int owner) {
        int code = switch (direction) {
            case DEVICE_TO_DEVICE -> EventCode.transfer(direction);
            case HOST_TO_DEVICE -> EventCode.transfer(direction, pinned.spaceOf(from));
            case DEVICE_TO_HOST, HOST_TO_HOST -> EventCode.transfer(direction, pinned.spaceOf(to));
        };
        flows.transferred(direction, bytes, durationNanos);
        emit(code, now, thread, owner, WorkspaceTable.NONE, to, bytes, durationNanos);
    }

    /** See {@link MemoryLedger#reclassify}. */
    boolean reclassify(long key, String network, Category category, long iteration, long now, long thread) {
        LiveAllocation allocation = live.get(key);
        if (allocation == null) {
            return false;
        }
        int before = allocation.owner();
        Owner old = owners.ownerOf(before);
        if (old.category() != category || !old.network().equals(network)) {
            int after = owners.idOf(new Owner(network, "", old.phase(), category, old.workspace()));
            allocation.owner(after);
            if (NETWORK_LONG.contains(category)) {
                allocation.countNoMoreViews();
                large.forgetSoon();
            }
            moved(allocation, before, after, iteration, now, thread);
        }
        return true;
    }

    /** Books the change of owner; a block stays out of what is in use. */
    private void moved(LiveAllocation a, int before, int after, long iteration, long now, long thread) {
        if (!isBlock(a)) {
            unuse(before, a.space(), a.roundedBytes());
            use(after, a.space(), a.roundedBytes(), iteration, now);
            accountOf(before, a.space()).allocated(-1, -a.roundedBytes());
            accountOf(after, a.space()).allocated(1, a.roundedBytes());
        }
        int code = EventCode.of(EventKind.RECLASSIFY, a.kind(), a.space());
        emit(code, now, thread, after, idOf(a.account()), a.address(), a.roundedBytes(), before);
    }

    // ---- arithmetic

    private void begin(LiveAllocation a) {
        long bytes = a.roundedBytes();
        WorkspaceAccount account = a.account();
        flows.allocated(a.kind(), a.space(), bytes);
        if (a.space() == MemorySpace.PINNED) {
            pinned.add(a.address(), bytes);
        }
        if (a.kind() == AllocationKind.WORKSPACE_BLOCK && account != null) {
            account.blockAllocated(a.space(), bytes);
        } else {
            accountOf(a.owner(), a.space()).allocated(1, bytes);
            use(a.owner(), a.space(), bytes, a.iteration(), a.timeNanos());
            if (account != null) {
                account.spilled(bytes);
            }
        }
        long peak = reserved[a.space().ordinal()].add(bytes);
        if (peak != PeakTotal.NO_PEAK) {
            reservedPeak.reached(peak, a.timeNanos(), a.owner(), a.iteration());
        }
    }

    private void end(LiveAllocation a, long now, long thread) {
        long bytes = a.roundedBytes();
        WorkspaceAccount account = a.account();
        reservedPeak.settle();
        flows.freed(a.kind(), a.space(), bytes);
        if (a.space() == MemorySpace.PINNED) {
            pinned.remove(a.address());
        }
        reserved[a.space().ordinal()].subtract(bytes);
        if (a.kind() == AllocationKind.WORKSPACE_BLOCK && account != null) {
            account.blockFreed(a.space(), bytes);
        } else {
            unuse(a.owner(), a.space(), bytes);
        }
        int code = EventCode.of(EventKind.FREE, a.kind(), a.space());
        emit(code, now, thread, a.owner(), idOf(account), a.address(), bytes, now - a.timeNanos());
    }

    private void use(int owner, MemorySpace space, long bytes, long iteration, long now) {
        accountOf(owner, space).add(bytes);
        long peak = inUse[space.ordinal()].add(bytes);
        if (peak != PeakTotal.NO_PEAK) {
            inUsePeak.reached(peak, now, owner, iteration);
        }
    }

    private void unuse(int owner, MemorySpace space, long bytes) {
        inUsePeak.settle();
        reservedPeak.settle();
        accountOf(owner, space).subtract(bytes);
        inUse[space.ordinal()].subtract(bytes);
    }

    static boolean isBlock(LiveAllocation a) {
        return a.kind() == AllocationKind.WORKSPACE_BLOCK && a.account() != null;
    }

    static int idOf(@Nullable WorkspaceAccount account) {
        return account == null ? WorkspaceTable.NONE : account.id();
    }

    private OwnerAccount accountOf(int owner, MemorySpace space) {
        int index = owner * SPACES + space.ordinal();
        OwnerAccount account = byOwner.getPlain(index);
        if (account == null) {
            account = new OwnerAccount();
            byOwner.set(index, account);
        }
        return account;
    }

    /** Bytes in use by category, in the order of the enum. O(owners): posting adds to owners only. */
    long[] categoryBytes() {
        long[] bytes = new long[CATEGORIES.length];
        int known = owners.size();
        for (int id = 0; id < known; id++) {
            for (int space = 0; space < SPACES; space++) {
                OwnerAccount account = byOwner.get(id * SPACES + space);
                if (account != null) {
                    bytes[owners.ownerOf(id).category().ordinal()] += account.get();
                }
            }
        }
        return bytes;
    }

    /** What every owner has and had, in no particular order. O(owners). */
    List<OwnerUsage> usage() {
        List<OwnerUsage> all = new ArrayList<>();
        int known = owners.size();
        for (int id = 0; id < known; id++) {
            for (MemorySpace space : MemorySpace.values()) {
                OwnerAccount account = byOwner.get(id * SPACES + space.ordinal());
                if (account != null) {
                    all.add(new OwnerUsage(
                            owners.ownerOf(id),
                            space,
                            account.get(),
                            account.peak(),
                            account.allocations(),
                            account.allocatedBytes()));
                }
            }
        }
        return all;
    }

    void emit(int code, long time, long thread, int owner, int workspace, long address, long bytes, long extra) {
        events++;
        for (EventSink sink : sinks) {
            try {
                sink.accept(code, time, thread, owner, workspace, address, bytes, extra);
            } catch (RuntimeException e) {
                drop(sink, e);
            }
        }
    }

    /** The books are right without it, and the others still hear. */
    private void drop(EventSink sink, RuntimeException e) {
        if (sinks.remove(sink)) {
            log.warn(
                    "{} failed and hears no more events; totals are not affected.",
                    sink.getClass().getName(),
                    e);
        }
    }

    private static PeakTotal[] totals(int n) {
        PeakTotal[] totals = new PeakTotal[n];
        for (int i = 0; i < n; i++) {
            totals[i] = new PeakTotal();
        }
        return totals;
    }
}
