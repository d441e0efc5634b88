// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.SiteTable;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.event.WorkspaceTable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The books: who holds how many bytes, exactly, at any moment. Two figures must not be mixed up:
 *
 * <ul>
 *   <li><b>reserved</b>: memory obtained from the operating system or driver, i.e. detached arrays, workspace blocks and
 *       spills;
 *   <li><b>in use</b>: bytes of arrays, i.e. detached arrays, spills and the arrays <em>inside</em> workspace blocks. The
 *       part of a block that no array occupies is reserved but not in use.
 * </ul>
 *
 * <p>Hooks call the {@code …Allocated} and {@code …Freed} methods; every change is also handed to the {@link EventSink}s.
 *
 * <p>Threading: all methods may be called from any thread. No locks on the hot path but the short monitor of a workspace
 * account, which only its own thread and a releasing thread ever want. Memory: about 200 B for each live allocation that
 * holds memory of its own, 0.5 KiB for each owner, 1 KiB for each workspace instance.
 */
public final class MemoryLedger {
    private static final Logger log = LoggerFactory.getLogger(MemoryLedger.class);
    private static final int SPACES = MemorySpace.values().length;
    private static final Category[] CATEGORIES = Category.values();
    /** Live as long as their network, whoever views them; each step makes a hundred views of them. */
    private static final Set<Category> NETWORK_LONG =
            EnumSet.of(Category.PARAMETERS, Category.GRADIENTS, Category.UPDATER_STATE);

    /** Names of workspaces with flows of their own; a program that makes up names shares the rest. */
    private static final int MAX_WORKSPACE_NAMES = 4096;
    /** Entry, boxed key, {@link LiveAllocation}; estimated from object layouts with compressed references. */
    private static final long LIVE_BYTES = 200;

    private static final long OWNER_BYTES = 512;
    private static final long WORKSPACE_BYTES = 1024;
    /** One reference in the owner table, {@code SPACES} in {@code byOwner}, a reference and a count in the sites. */
    private static final long SLOT_BYTES = 4L * (1 + SPACES + 2);

    private final OwnerTable owners;
    private final WorkspaceTable workspaces;
    private final OwnerCache detachedOwners;
    private final Function<Owner, Category> rule;
    private final AllocationSites sites;
    private final SiteTable siteTable = new SiteTable();

    private final AddressMap<LiveAllocation> live = new AddressMap<>();
    private final ViewCounts views = new ViewCounts();
    private final ConcurrentHashMap<Integer, WorkspaceAccount> accounts = new ConcurrentHashMap<>();
    private final PinnedRanges pinned = new PinnedRanges();
    private final AtomicReferenceArray<@Nullable OwnerAccount> byOwner;

    private final PeakTotal[] inUse = totals(SPACES);
    private final PeakTotal[] reserved = totals(SPACES);
    private final PeakMarker inUsePeak = new PeakMarker(this::categoryBytes);
    private final PeakMarker reservedPeak = new PeakMarker(this::categoryBytes);
    private final FlowCounters flows = new FlowCounters();
    private final ConcurrentHashMap<String, WorkspaceFlows> flowsByWorkspace = new ConcurrentHashMap<>();
    private final PeakWindows windows;
    private final LongAdder events = new LongAdder();
    private final ArrayDeque<FailureMoment> failures = new ArrayDeque<>();
    private final CopyOnWriteArrayList<EventSink> sinks = new CopyOnWriteArrayList<>();

    /**
     * Empty books.
     *
     * @param rule says what bytes are for, from the owner with network, layer, phase and workspace filled in; called once
     *     for each combination
     */
    public MemoryLedger(OwnerTable owners, WorkspaceTable workspaces, Function<Owner, Category> rule) {
        this.owners = owners;
        this.workspaces = workspaces;
        this.rule = rule;
        this.detachedOwners = new OwnerCache(owners, "", rule);
        this.byOwner = new AtomicReferenceArray<>(owners.capacity() * SPACES);
        this.sites = new AllocationSites(owners.capacity());
        this.windows = new PeakWindows(inUse, reserved, owners, byOwner, accounts);
    }

    public OwnerTable owners() {
        return owners;
    }

    public WorkspaceTable workspaces() {
        return workspaces;
    }

    /** Names of the places that {@link MemoryEvent.Origin} events number. */
    public SiteTable sites() {
        return siteTable;
    }

    /**
     * From now on {@code sink} hears every event. Adding the same sink twice is a mistake that is ignored. One that throws
     * is removed, with a warning.
     */
    public void addSink(EventSink sink) {
        sinks.addIfAbsent(sink);
    }

    /** {@code sink} hears no event that starts after this call. */
    public void removeSink(EventSink sink) {
        sinks.remove(sink);
    }

    // ---- what the hooks report

    /** Opens the books of a workspace instance that {@code thread} created. */
    public WorkspaceAccount openAccount(String name, Thread thread, boolean circular) {
        return openAccount(name, thread, circular, 0);
    }

    /** As {@link #openAccount(String, Thread, boolean)} for the ring buffer of an iterator that prefetches. */
    public WorkspaceAccount openAccount(String name, Thread thread, boolean circular, int prefetchDepth) {
        int id = workspaces.add(name, thread, circular);
        WorkspaceAccount account = new WorkspaceAccount(
                id,
                name,
                thread,
                circular,
                prefetchDepth,
                new OwnerCache(owners, name, rule),
                flowsOf(name),
                System.nanoTime());
        accounts.put(id, account);
        return account;
    }

    /** The workspace object is gone: its arrays end and its row disappears. Its memory is freed by other calls. */
    public void closeAccount(WorkspaceAccount account) {
        arraysReleased(account, MemorySpace.HOST);
        accounts.remove(account.id());
        workspaces.remove(account.id());
    }

    /**
     * Memory of its own became live.
     *
     * @param key what will be passed to {@link #freed}: address of the bytes or of the native buffer object
     * @param rounded bytes really taken
     */
    public void allocated(MemorySpace space, long key, long address, long requested, long rounded) {
        allocated(space, key, address, requested, rounded, 1);
    }

    /** As {@link #allocated(MemorySpace, long, long, long, long)} for an array that can be {@link #resized}. */
    public void bufferAllocated(MemorySpace space, long key, long address, long elements, int elementBytes) {
        allocated(space, key, address, elements * elementBytes, elements * elementBytes, elementBytes);
    }

    private void allocated(MemorySpace space, long key, long address, long requested, long rounded, int elementBytes) {
        ThreadContext context = ThreadContext.current();
        AllocationKind kind = context.intent();
        WorkspaceAccount account = context.account();
        int owner = account == null
                ? detachedOwners.ownerFor(context.owner(owners))
                : account.ownerFor(context.owner(owners));
        String site = kind == AllocationKind.DETACHED ? sites.siteFor(owner, requested) : null;
        long now = System.nanoTime();
        LiveAllocation allocation = new LiveAllocation(
                kind,
                space,
                address,
                requested,
                rounded,
                elementBytes,
                owner,
                now,
                context.iteration(owners),
                account,
                site);
        LiveAllocation stale = put(key, allocation);
        if (stale != null) {
            end(stale, now);
        }
        begin(allocation, context);
        emit(
                EventCode.of(EventKind.ALLOCATE, kind, space),
                now,
                context,
                owner,
                idOf(account),
                address,
                requested,
                rounded);
        if (site != null) {
            tellOrigin(allocation, now, context);
        }
    }

    /** Tells sinks how many views the large live arrays have: the recording ends. */
    public void tellViews() {
        for (LiveAllocation allocation : live.values()) {
            if (allocation.views() > 0) {
                tellOrigin(allocation, System.nanoTime(), ThreadContext.current());
            }
        }
    }

    private void tellOrigin(LiveAllocation allocation, long now, ThreadContext context) {
        emit(
                EventCode.of(EventKind.ORIGIN, allocation.kind(), allocation.space()),
                now,
                context,
                allocation.owner(),
                WorkspaceTable.NONE,
                allocation.address(),
                allocation.views(),
                siteTable.idOf(allocation.site()));
    }

    /** Memory of its own is about to be given back. Unknown keys (allocated before the hooks, views) are ignored. */
    public void freed(long key) {
        LiveAllocation allocation = take(key);
        if (allocation != null) {
            end(allocation, System.nanoTime());
            return;
        }
        views.deleted(key);
    }

    /** The allocation behind {@code key} moved to {@code address} and takes {@code bytes}; unknown keys are ignored. */
    public void resized(long key, long address, long bytes) {
        LiveAllocation before = take(key);
        if (before == null) {
            return;
        }
        end(before, System.nanoTime());
        ThreadContext context = ThreadContext.current();
        LiveAllocation after = new LiveAllocation(
                before.kind(),
                before.space(),
                address,
                bytes,
                bytes,
                before.elementBytes(),
                before.owner(),
                System.nanoTime(),
                before.iteration(),
                before.account(),
                before.site());
        put(key, after);
        begin(after, context);
        emit(
                EventCode.of(EventKind.ALLOCATE, after.kind(), after.space()),
                after.timeNanos(),
                context,
                after.owner(),
                idOf(after.account()),
                after.address(),
                bytes,
                bytes);
    }

    /** A view of the allocation behind {@code parentKey} was made. Costs next to nothing for parents that are small, unknown or
     * a network's flat arrays, whose views are not counted. */
    public void viewCreated(long parentKey, long viewKey) {
        views.created(parentKey, viewKey);
    }

    /** An array was placed inside a workspace block. */
    public void arrayAllocated(
            WorkspaceAccount account, MemorySpace space, long address, long requested, long rounded) {
        ThreadContext context = ThreadContext.current();
        int owner = account.ownerFor(context.owner(owners));
        account.arrayAdded(owner, space, rounded);
        flows.allocated(AllocationKind.WORKSPACE_ARRAY, space, rounded);
        long now = System.nanoTime();
        accountOf(owner, space).allocated(1, rounded);
        use(owner, space, rounded, context, now);
        emit(
                EventCode.of(EventKind.ALLOCATE, AllocationKind.WORKSPACE_ARRAY, space),
                now,
                context,
                owner,
                account.id(),
                address,
                requested,
                rounded);
    }

    /**
     * One array ended before its scope did: another takes its bytes.
     *
     * @param owner whose it was
     * @param cycle {@link WorkspaceAccount#cycle()} when it was made; nothing happens if that is over
     * @param ageNanos time since it was made
     */
    public void arrayReleased(
            WorkspaceAccount account,
            MemorySpace space,
            long address,
            int owner,
            long rounded,
            long cycle,
            long ageNanos) {
        if (account.arrayRemoved(owner, space, rounded, cycle)) {
            flows.freed(AllocationKind.WORKSPACE_ARRAY, space, rounded);
            unuse(owner, space, rounded);
            emit(
                    EventCode.of(EventKind.FREE, AllocationKind.WORKSPACE_ARRAY, space),
                    System.nanoTime(),
                    ThreadContext.current(),
                    owner,
                    account.id(),
                    address,
                    rounded,
                    ageNanos);
        }
    }

    /**
     * All arrays inside the block ended at once, in whatever space they lie.
     *
     * @param space where the block is
     */
    public void arraysReleased(WorkspaceAccount account, MemorySpace space) {
        long sum = account.releaseArrays((owner, arraySpace, bytes) -> {
            flows.freed(AllocationKind.WORKSPACE_ARRAY, arraySpace, bytes);
            unuse(owner, arraySpace, bytes);
        });
        if (sum > 0) {
            ThreadContext context = ThreadContext.current();
            emit(
                    EventCode.of(EventKind.SCOPE_RELEASE),
                    System.nanoTime(),
                    context,
                    account.ownerFor(context.owner(owners)),
                    account.id(),
                    0,
                    sum,
                    account.reservedBytes(space));
        }
    }

    /** A workspace scope was opened anew. */
    public void scopeEntered(WorkspaceAccount account, MemorySpace space) {
        ThreadContext context = ThreadContext.current();
        long now = System.nanoTime();
        account.entered(now);
        emit(
                EventCode.of(EventKind.SCOPE_ENTER),
                now,
                context,
                account.ownerFor(context.owner(owners)),
                account.id(),
                0,
                account.reservedBytes(space),
                account.generation());
    }

    /** Number of the owner for which the calling thread allocates in {@code account} now. */
    public int currentOwner(WorkspaceAccount account) {
        return account.ownerFor(ThreadContext.current().owner(owners));
    }

    /**
     * The array at {@code address} ends, or the recording does; see {@link MemoryEvent.LastUse} for the figures.
     *
     * @param lastUseNanos {@link System#nanoTime()} of its last use
     * @param span as in {@link MemoryEvent.LastUse#span()}
     */
    public void lastUsed(
            int owner,
            @Nullable WorkspaceAccount account,
            AllocationKind kind,
            MemorySpace space,
            long address,
            long lastUseNanos,
            long span) {
        long now = System.nanoTime();
        int code = EventCode.of(EventKind.LAST_USE, kind, space);
        emit(code, now, ThreadContext.current(), owner, idOf(account), address, Math.max(0, now - lastUseNanos), span);
    }

    /** Bytes were copied; {@code durationNanos} is what the caller waited. Addresses may be 0 when not known. */
    public void transferred(TransferDirection direction, long to, long from, long bytes, long durationNanos) {
        int code = switch (direction) {
            case DEVICE_TO_DEVICE -> EventCode.transfer(direction);
            case HOST_TO_DEVICE -> EventCode.transfer(direction, pinned.spaceOf(from));
            case DEVICE_TO_HOST, HOST_TO_HOST -> EventCode.transfer(direction, pinned.spaceOf(to));
        };
        flows.transferred(direction, bytes, durationNanos);
        ThreadContext context = ThreadContext.current();
        emit(code, System.nanoTime(), context, context.owner(owners), 0, to, bytes, durationNanos);
    }

    /** A thread waits for a stream. Counted only, for it happens thousands of times in a step; sinks do not hear of it. */
    public void streamSynchronized() {
        flows.synchronizedStream();
    }

    /** The operating system or driver refused. Costs O(owners + live allocations): a failure is rare, and told in full. */
    public void allocationFailed(MemorySpace space, long requested) {
        flows.failed(space);
        ThreadContext context = ThreadContext.current();
        WorkspaceAccount account = context.account();
        int owner = account == null
                ? detachedOwners.ownerFor(context.owner(owners))
                : account.ownerFor(context.owner(owners));
        long now = System.nanoTime();
        remember(new FailureMoment(
                now,
                context.threadId(),
                context.iteration(owners),
                space,
                context.intent(),
                owners.ownerOf(owner),
                requested,
                reservedBytes(space),
                inUseByCategory(),
                largestOwners(),
                blocks()));
        emit(
                EventCode.of(EventKind.ALLOCATION_FAILURE, AllocationKind.WORKSPACE_BLOCK, space),
                now,
                context,
                owner,
                idOf(account),
                0,
                requested,
                0);
    }

    private void remember(FailureMoment failure) {
        synchronized (failures) {
            if (failures.size() == FailureMoment.MOST_FAILURES) {
                failures.removeFirst();
            }
            failures.addLast(failure);
        }
    }

    private List<OwnerUsage> largestOwners() {
        return usage().stream()
                .filter(row -> row.liveBytes() > 0)
                .sorted(Comparator.comparingLong(OwnerUsage::liveBytes).reversed())
                .limit(FailureMoment.MOST_OWNERS)
                .toList();
    }

    private List<FailureMoment.Block> blocks() {
        return live.values().stream()
                .filter(MemoryLedger::isBlock)
                .sorted(Comparator.comparingLong(LiveAllocation::roundedBytes).reversed())
                .limit(FailureMoment.MOST_BLOCKS)
                .map(MemoryLedger::blockOf)
                .toList();
    }

    private static FailureMoment.Block blockOf(LiveAllocation allocation) {
        WorkspaceAccount account = allocation.account();
        return account == null
                ? new FailureMoment.Block("", "", allocation.address(), allocation.roundedBytes(), 0)
                : new FailureMoment.Block(
                        account.name(),
                        account.threadName(),
                        allocation.address(),
                        allocation.roundedBytes(),
                        Math.min(account.arrayBytes(), allocation.roundedBytes()));
    }

    /** A Java garbage collection ended. */
    public void garbageCollected(boolean forced, long durationNanos) {
        flows.collected(forced, durationNanos);
        int code = EventCode.of(EventKind.GARBAGE_COLLECTION);
        emit(code, System.nanoTime(), ThreadContext.current(), 0, 0, 0, durationNanos, forced ? 1 : 0);
    }

    /** The process was looked at; nothing when the system does not tell the resident size. */
    public void processSampled(ProcessMemory memory) {
        if (memory.residentBytes().isPresent()) {
            long resident = memory.residentBytes().getAsLong();
            int code = EventCode.of(EventKind.PROCESS);
            emit(code, System.nanoTime(), ThreadContext.current(), 0, 0, 0, resident, memory.javaBytes());
        }
    }

    /** The calling thread now works for {@code owner}. */
    public void contextChanged(int owner) {
        ThreadContext context = ThreadContext.current();
        if (context.owner(owners) != owner) {
            context.owner(owners, owner);
            emit(EventCode.of(EventKind.CONTEXT), System.nanoTime(), context, owner, 0, 0, 0, 0);
        }
    }

    /** The calling thread finished a training iteration of the network in {@code owner}. */
    public void iterationEnded(int owner, long iteration, long epoch) {
        ThreadContext context = ThreadContext.current();
        emit(EventCode.of(EventKind.ITERATION), System.nanoTime(), context, owner, 0, 0, iteration, epoch);
    }

    /**
     * The allocation behind {@code key} turned out to be of {@code category}, for {@code network}.
     *
     * @return false when the key is not known
     */
    public boolean reclassify(long key, String network, Category category) {
        LiveAllocation allocation = live.get(key);
        while (allocation != null && !allocation.ended()) {
            int before = allocation.owner();
            Owner old = owners.ownerOf(before);
            if (old.category() == category && old.network().equals(network)) {
                return true;
            }
            int after = owners.idOf(new Owner(network, "", old.phase(), category, old.workspace()));
            if (allocation.move(before, after)) {
                if (NETWORK_LONG.contains(category)) {
                    allocation.countNoMoreViews();
                }
                moved(allocation, before, after);
                return true;
            }
        }
        return false;
    }

    /** Memory that existed before the hooks did is taken into the books, if it is not there yet. */
    public void adopt(MemorySpace space, long key, long address, long bytes, String network, Category category) {
        if (!reclassify(key, network, category)) {
            allocated(space, key, address, bytes, bytes);
            reclassify(key, network, category);
        }
    }

    // ---- what readers ask

    /** Bytes of all arrays in {@code space} now. */
    public long inUseBytes(MemorySpace space) {
        return inUse[space.ordinal()].get();
    }

    /** Bytes held from the operating system or driver in {@code space} now. */
    public long reservedBytes(MemorySpace space) {
        return reserved[space.ordinal()].get();
    }

    /** Bytes held from the operating system or driver in all spaces now. */
    public long reservedBytes() {
        long sum = 0;
        for (PeakTotal total : reserved) {
            sum += total.get();
        }
        return sum;
    }

    public long reservedBytes(AllocationKind kind, MemorySpace space) {
        return kind.ownsMemory() ? flows.allocatedBytes(kind, space) - flows.freedBytes(kind, space) : 0;
    }

    /** Bytes of arrays of {@code category} in all spaces now. */
    public long inUseBytes(Category category) {
        return categoryBytes()[category.ordinal()];
    }

    /** A new reader of "largest since I last asked"; see {@link PeakWindow}. */
    public PeakWindow openPeakWindow() {
        return windows.open();
    }

    /** When the arrays of one space filled the most. */
    public PeakMoment inUsePeak() {
        return inUsePeak.largest(owners);
    }

    /** When most was held from the operating system or driver in one space. */
    public PeakMoment reservedPeak() {
        return reservedPeak.largest(owners);
    }

    /** What every owner has and had, in no particular order. O(owners). */
    public List<OwnerUsage> usage() {
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

    /** Workspace instances that still exist, dead threads' ones until collected. */
    public Collection<WorkspaceAccount> accounts() {
        return List.copyOf(accounts.values());
    }

    /** Live allocations with memory of their own. O(n) copy: for reports, not for scraping. */
    public List<LiveAllocation> liveAllocations() {
        return List.copyOf(live.values());
    }

    /** Hands each live allocation with memory of its own and its key to {@code action}; those that begin or end meanwhile may be missed. */
    public void forEachLive(BiConsumer<Long, LiveAllocation> action) {
        live.entries().forEach(action);
    }

    public @Nullable LiveAllocation find(long key) {
        return live.get(key);
    }

    /** What was refused, oldest first; the latest {@value FailureMoment#MOST_FAILURES}. */
    public List<FailureMoment> failures() {
        synchronized (failures) {
            return List.copyOf(failures);
        }
    }

    /** Flows since the start. */
    public FlowCounters flows() {
        return flows;
    }

    /** What happened in the workspaces of each name since the start, closed instances included. */
    public Map<String, WorkspaceFlows> workspaceFlows() {
        return Map.copyOf(flowsByWorkspace);
    }

    /** Java heap that the books themselves take, estimated from the number of their entries. */
    public long memoryBytes() {
        return LIVE_BYTES * (live.size() + views.size())
                + OWNER_BYTES * owners.size()
                + WORKSPACE_BYTES * accounts.size()
                + SLOT_BYTES * owners.capacity();
    }

    /** Events handed to sinks and books so far. */
    public long events() {
        return events.sum();
    }

    /** In use by category, categories without bytes left out. */
    public Map<Category, Long> inUseByCategory() {
        Map<Category, Long> result = new EnumMap<>(Category.class);
        long[] all = categoryBytes();
        for (Category category : CATEGORIES) {
            if (all[category.ordinal()] != 0) {
                result.put(category, all[category.ordinal()]);
            }
        }
        return result;
    }

    // ---- arithmetic

    private @Nullable LiveAllocation put(long key, LiveAllocation allocation) {
        LiveAllocation stale = live.put(key, allocation);
        views.allocated(key, allocation, stale);
        return stale;
    }

    private @Nullable LiveAllocation take(long key) {
        LiveAllocation allocation = live.remove(key);
        if (allocation != null) {
            views.freed(key, allocation);
        }
        return allocation;
    }

    private void begin(LiveAllocation a, ThreadContext context) {
        int space = a.space().ordinal();
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
            use(a.owner(), a.space(), bytes, context, a.timeNanos());
            if (account != null) {
                account.spilled(bytes);
            }
        }
        long peak = reserved[space].add(bytes);
        if (peak != PeakTotal.NO_PEAK) {
            reservedPeak.reached(peak, a.timeNanos(), a.owner(), context.iteration(owners));
        }
    }

    private void end(LiveAllocation a, long now) {
        int space = a.space().ordinal();
        long bytes = a.roundedBytes();
        WorkspaceAccount account = a.account();
        int owner = a.end();
        reservedPeak.settle();
        flows.freed(a.kind(), a.space(), bytes);
        if (a.space() == MemorySpace.PINNED) {
            pinned.remove(a.address());
        }
        reserved[space].subtract(bytes);
        if (a.kind() == AllocationKind.WORKSPACE_BLOCK && account != null) {
            account.blockFreed(a.space(), bytes);
        } else {
            unuse(owner, a.space(), bytes);
        }
        emit(
                EventCode.of(EventKind.FREE, a.kind(), a.space()),
                now,
                ThreadContext.current(),
                owner,
                idOf(account),
                a.address(),
                bytes,
                now - a.timeNanos());
    }

    /** Books the change of owner; a block stays out of what is in use. */
    private void moved(LiveAllocation a, int before, int after) {
        ThreadContext context = ThreadContext.current();
        long now = System.nanoTime();
        if (!isBlock(a)) {
            unuse(before, a.space(), a.roundedBytes());
            use(after, a.space(), a.roundedBytes(), context, now);
            accountOf(before, a.space()).allocated(-1, -a.roundedBytes());
            accountOf(after, a.space()).allocated(1, a.roundedBytes());
        }
        emit(
                EventCode.of(EventKind.RECLASSIFY, a.kind(), a.space()),
                now,
                context,
                after,
                idOf(a.account()),
                a.address(),
                a.roundedBytes(),
                before);
    }

    private static boolean isBlock(LiveAllocation a) {
        return a.kind() == AllocationKind.WORKSPACE_BLOCK && a.account() != null;
    }

    private static int idOf(@Nullable WorkspaceAccount account) {
        return account == null ? WorkspaceTable.NONE : account.id();
    }

    private void use(int owner, MemorySpace space, long bytes, ThreadContext context, long now) {
        accountOf(owner, space).add(bytes);
        long peak = inUse[space.ordinal()].add(bytes);
        if (peak != PeakTotal.NO_PEAK) {
            inUsePeak.reached(peak, now, owner, context.iteration(owners));
        }
    }

    private void unuse(int owner, MemorySpace space, long bytes) {
        inUsePeak.settle();
        reservedPeak.settle();
        accountOf(owner, space).subtract(bytes);
        inUse[space.ordinal()].subtract(bytes);
    }

    private OwnerAccount accountOf(int owner, MemorySpace space) {
        int index = owner * SPACES + space.ordinal();
        OwnerAccount account = byOwner.get(index);
        if (account == null) {
            OwnerAccount fresh = new OwnerAccount();
            account = byOwner.compareAndSet(index, null, fresh) ? fresh : byOwner.get(index);
        }
        return account == null ? new OwnerAccount() : account;
    }

    private WorkspaceFlows flowsOf(String workspace) {
        String name = flowsByWorkspace.size() < MAX_WORKSPACE_NAMES || flowsByWorkspace.containsKey(workspace)
                ? workspace
                : WorkspaceFlows.SHARED;
        return flowsByWorkspace.computeIfAbsent(name, n -> new WorkspaceFlows());
    }

    /** Bytes in use by category, in the order of the enum. O(owners): the hot path adds to owners only. */
    private long[] categoryBytes() {
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

    private void emit(
            int code,
            long time,
            ThreadContext context,
            int owner,
            int workspace,
            long address,
            long bytes,
            long extra) {
        events.increment();
        for (EventSink sink : sinks) {
            try {
                sink.accept(code, time, context.threadId(), owner, workspace, address, bytes, extra);
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
