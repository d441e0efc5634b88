// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.DeferredSink;
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
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

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
 * <p>Hooks call the {@code …Allocated} and {@code …Freed} methods. Each thread writes what it is told into a journal of its own;
 * journals are posted, in the order of their times, when one is full, before anybody reads, so that what is read is exact, and by a
 * thread in the background where that is wanted. Every
 * change is also handed to the {@link EventSink}s: when it is posted, or at once and on the acting thread while any sink is not a
 * {@link DeferredSink}.
 *
 * <p>Threading: all methods may be called from any thread. The hot path takes no lock but once in {@value Journal#CAPACITY} events
 * of a thread. Memory: about 200 B for each live allocation that holds memory of its own, 0.5 KiB for each owner, 1 KiB for each
 * workspace instance, 32 KiB for each thread.
 */
public final class MemoryLedger {
    private static final MemorySpace[] SPACES = MemorySpace.values();
    private static final Category[] CATEGORIES = Category.values();

    /** Names of workspaces with flows of their own; a program that makes up names shares the rest. */
    private static final int MAX_WORKSPACE_NAMES = 4096;
    /** Slots of the tables, {@link LiveAllocation}; estimated from object layouts with compressed references. */
    private static final long LIVE_BYTES = 200;

    private static final long OWNER_BYTES = 512;
    private static final long WORKSPACE_BYTES = 1024;
    /** One reference in the owner table, one for each space in that of accounts, a reference and a count in the sites. */
    private static final long SLOT_BYTES = 4L * (1 + SPACES.length + 2);

    private final OwnerTable owners;
    private final WorkspaceTable workspaces;
    private final Function<Owner, Category> rule;
    private final AllocationSites sites;
    private final Books books;
    private final Journals journals;
    /** Of the journals; here, so that an event need not ask them. */
    private final Object identity;

    private final PeakWindows windows;
    private final Failures failures;
    private final ConcurrentHashMap<String, WorkspaceFlows> flowsByWorkspace = new ConcurrentHashMap<>();
    /** Whether a sink must hear at once. */
    private volatile boolean prompt;
    /** Posts while threads work; null leaves it to them. */
    private @Nullable Bookkeeper bookkeeper;

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
        this.sites = new AllocationSites(owners.capacity());
        this.books = new Books(owners, rule);
        this.journals = new Journals(books);
        this.identity = journals.identity();
        this.windows = new PeakWindows(books, journals);
        this.failures = new Failures(books);
    }

    public OwnerTable owners() {
        return owners;
    }

    public WorkspaceTable workspaces() {
        return workspaces;
    }

    /** Names of the places that {@link MemoryEvent.Origin} events number. */
    public SiteTable sites() {
        return books.siteTable;
    }

    /**
     * From now on {@code sink} hears every event. Adding the same sink twice is a mistake that is ignored. One that throws
     * is removed, with a warning.
     */
    public void addSink(EventSink sink) {
        journals.posted(() -> {
            books.sinks.addIfAbsent(sink);
            if (sink instanceof DeferredSink deferred) {
                deferred.heardFrom(journals);
            } else {
                prompt = true;
            }
        });
    }

    /** As {@link #addSink}; first of all it hears of what is live, as if that were allocated now. Arrays inside workspaces are left out. */
    public void addSinkWithLive(EventSink sink) {
        journals.posted(() -> {
            for (LiveAllocation live : books.live.values()) {
                books.tellLive(sink, live);
            }
            addSink(sink);
        });
    }

    /** {@code sink} has heard of all events so far, and hears no event that starts after this call. */
    public void removeSink(EventSink sink) {
        journals.posted(() -> {
            books.sinks.remove(sink);
            prompt = books.sinks.stream().anyMatch(other -> !(other instanceof DeferredSink));
        });
    }

    /** From now on journals are posted by a thread of their own, before they are full; what is read stays exact. */
    public synchronized void postInBackground() {
        if (bookkeeper == null) {
            bookkeeper = new Bookkeeper(journals);
        }
    }

    /** Ends what {@link #postInBackground} began; does nothing when it has not begun. */
    public synchronized void stopPostingInBackground() {
        if (bookkeeper != null) {
            bookkeeper.close();
            bookkeeper = null;
        }
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
        books.accounts.put(id, account);
        return account;
    }

    /** The workspace object is gone: its arrays end and its row disappears. Its memory is freed by other calls. */
    public void closeAccount(WorkspaceAccount account) {
        long thread = ThreadContext.current().threadId();
        journals.posted(() -> books.close(account, System.nanoTime(), thread));
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

    /** The array behind {@code key}, which is on a device, has a place of its size on the host now, for whom the array is. */
    public void hostPlaceAllocated(long key, LiveAllocation array, long address) {
        allocated(MemorySpace.HOST, -key, address, array.requestedBytes(), array.roundedBytes());
        Owner owner = owners.ownerOf(array.owner());
        reclassify(-key, owner.network(), owner.category());
    }

    /** Ends what {@link #hostPlaceAllocated} began. */
    public void hostPlaceFreed(long key) {
        freed(-key);
    }

    /** As {@link #allocated(MemorySpace, long, long, long, long)} for an array that can be {@link #resized}. */
    public void bufferAllocated(MemorySpace space, long key, long address, long elements, int elementBytes) {
        allocated(space, key, address, elements * elementBytes, elements * elementBytes, elementBytes);
    }

    private void allocated(MemorySpace space, long key, long address, long requested, long rounded, int elementBytes) {
        ThreadContext context = ThreadContext.current();
        AllocationKind kind = context.intent();
        WorkspaceAccount account = context.account();
        int owner = context.owner(owners);
        if (kind.isSpill()) {
            context.spill();
        }
        if (ViewCounts.isLarge(rounded)) {
            books.large.add(key);
        }
        write(
                context,
                Entry.ALLOCATED.details(owner, kind, space, elementBytes),
                Entry.where(Books.idOf(account), context.iteration(owners)),
                address,
                requested,
                rounded,
                key,
                kind == AllocationKind.DETACHED && AllocationSites.isLooked(requested) ? siteId(owner, requested) : 0);
    }

    /** As the extra figure of {@link Entry#ALLOCATED}. */
    private int siteId(int context, long requested) {
        return books.siteTable.idOf(sites.siteFor(books.ownerFor(null, context), requested)) + 1;
    }

    /** Tells sinks how many views the large live arrays have: the recording ends. */
    public void tellViews() {
        long thread = ThreadContext.current().threadId();
        journals.posted(() -> {
            for (LiveAllocation allocation : books.live.values()) {
                if (allocation.views() > 0) {
                    books.tellOrigin(allocation, System.nanoTime(), thread);
                }
            }
        });
    }

    /** Memory of its own is about to be given back. Unknown keys (allocated before the hooks, views) are ignored. */
    public void freed(long key) {
        write(ThreadContext.current(), Entry.FREED.details(0), 0, 0, 0, 0, key, 0);
    }

    /** The allocation behind {@code key} moved to {@code address} and takes {@code bytes}; unknown keys are ignored. */
    public void resized(long key, long address, long bytes) {
        ThreadContext context = ThreadContext.current();
        journals.posted(() -> {
            LiveAllocation before = books.live.get(key);
            if (before != null) {
                books.large.add(key);
                books.resized(before, key, address, bytes, System.nanoTime(), context);
            }
        });
    }

    /** A view of the allocation behind {@code parentKey} was made. Views of parents that are small, unknown or a network's flat
     * arrays are not counted. */
    public void viewCreated(long parentKey, long viewKey) {
        if (!books.large.mayContain(parentKey)) {
            return;
        }
        books.large.add(viewKey);
        write(ThreadContext.current(), Entry.VIEWED.details(0), 0, parentKey, 0, 0, viewKey, 0);
    }

    /** An array was placed inside a workspace block. */
    public void arrayAllocated(
            WorkspaceAccount account, MemorySpace space, long address, long requested, long rounded) {
        ThreadContext context = account.context();
        write(
                context,
                Entry.ARRAY.details(context.owner(owners), space),
                Entry.where(account.id(), context.iteration(owners)),
                address,
                requested,
                rounded,
                0,
                0);
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
        long details = Entry.ARRAY_RELEASED.details(owner, space);
        long where = Entry.where(account.id(), 0);
        write(account.context(), details, where, address, 0, rounded, cycle, ageNanos);
    }

    /**
     * All arrays inside the block ended at once, in whatever space they lie.
     *
     * @param space where the block is
     */
    public void arraysReleased(WorkspaceAccount account, MemorySpace space) {
        ThreadContext context = account.context();
        long details = Entry.ARRAYS_RELEASED.details(context.owner(owners), space);
        write(context, details, Entry.where(account.id(), 0), 0, 0, 0, account.endCycle(), 0);
    }

    /** A workspace scope was opened anew. */
    public void scopeEntered(WorkspaceAccount account, MemorySpace space) {
        ThreadContext context = account.context();
        long details = Entry.SCOPE_ENTERED.details(context.owner(owners), space);
        write(context, details, Entry.where(account.id(), 0), 0, 0, 0, account.beginGeneration(), 0);
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
        long age = Math.max(0, System.nanoTime() - lastUseNanos);
        int code = EventCode.of(EventKind.LAST_USE, kind, space);
        tell(code, ThreadContext.current(), owner, Books.idOf(account), address, age, span);
    }

    /** Bytes were copied; {@code durationNanos} is what the caller waited. Addresses may be 0 when not known. */
    public void transferred(TransferDirection direction, long to, long from, long bytes, long durationNanos) {
        ThreadContext context = ThreadContext.current();
        long details = Entry.TRANSFERRED.details(context.owner(owners), direction.ordinal());
        write(context, details, 0, to, bytes, 0, from, durationNanos);
    }

    /** A thread waits for a stream. Counted only, for it happens thousands of times in a step; sinks do not hear of it. */
    public void streamSynchronized() {
        books.flows.synchronizedStream();
    }

    /** The operating system or driver refused. Costs O(owners + live allocations): a failure is rare, and told in full. */
    public void allocationFailed(MemorySpace space, long requested) {
        ThreadContext context = ThreadContext.current();
        journals.posted(() -> failures.add(space, requested, context));
    }

    /** A Java garbage collection ended. */
    public void garbageCollected(boolean forced, long durationNanos) {
        books.flows.collected(forced, durationNanos);
        int code = EventCode.of(EventKind.GARBAGE_COLLECTION);
        tell(code, ThreadContext.current(), 0, WorkspaceTable.NONE, 0, durationNanos, forced ? 1 : 0);
    }

    /** The process was looked at; nothing when the system does not tell the resident size. */
    public void processSampled(ProcessMemory memory) {
        if (memory.residentBytes().isPresent()) {
            long resident = memory.residentBytes().getAsLong();
            int code = EventCode.of(EventKind.PROCESS);
            tell(code, ThreadContext.current(), 0, WorkspaceTable.NONE, 0, resident, memory.javaBytes());
        }
    }

    /** The calling thread now works for {@code owner}. */
    public void contextChanged(int owner) {
        ThreadContext context = ThreadContext.current();
        if (context.owner(owners) != owner) {
            context.owner(owners, owner);
            tell(EventCode.of(EventKind.CONTEXT), context, owner, WorkspaceTable.NONE, 0, 0, 0);
        }
    }

    /** The calling thread finished a training iteration of the network in {@code owner}. */
    public void iterationEnded(int owner, long iteration, long epoch) {
        int code = EventCode.of(EventKind.ITERATION);
        tell(code, ThreadContext.current(), owner, WorkspaceTable.NONE, 0, iteration, epoch);
    }

    /**
     * The allocation behind {@code key} turned out to be of {@code category}, for {@code network}.
     *
     * @return false when the key is not known
     */
    public boolean reclassify(long key, String network, Category category) {
        ThreadContext context = ThreadContext.current();
        return journals.posted(() -> {
            long now = System.nanoTime();
            long iteration = context.iteration(owners);
            books.reclassify(-key, network, category, iteration, now, context.threadId()); // its place on the host
            return books.reclassify(key, network, category, iteration, now, context.threadId());
        });
    }

    /**
     * As {@link #reclassify}, without an answer and without waiting for one.
     *
     * @param like number of an owner with the network and the category
     */
    public void classified(long key, int like) {
        ThreadContext context = ThreadContext.current();
        long where = Entry.where(WorkspaceTable.NONE, context.iteration(owners));
        write(context, Entry.CLASSIFIED.details(like), where, 0, 0, 0, key, 0);
    }

    /** Memory that existed before the hooks did is taken into the books, if it is not there yet. */
    public void adopt(MemorySpace space, long key, long address, long bytes, String network, Category category) {
        if (!reclassify(key, network, category)) {
            allocated(space, key, address, bytes, bytes);
            reclassify(key, network, category);
        }
    }

    private void tell(int code, ThreadContext context, int owner, int workspace, long address, long bytes, long extra) {
        write(context, Entry.EVENT.details(owner), Entry.where(workspace, 0), address, bytes, code, 0, extra);
    }

    private void write(
            ThreadContext context,
            long details,
            long where,
            long address,
            long bytes,
            long rounded,
            long key,
            long extra) {
        Journal journal = context.journal(journals, identity);
        if (prompt) {
            journals.posted(() -> {
                journal.write(System.nanoTime(), details, where, address, bytes, rounded, key, extra);
                journals.post();
            });
            return;
        }
        if (journal.isFull()) {
            journals.post();
        }
        journal.write(System.nanoTime(), details, where, address, bytes, rounded, key, extra);
    }

    // ---- what readers ask

    /** Bytes of all arrays in {@code space} now. */
    public long inUseBytes(MemorySpace space) {
        journals.post();
        return books.inUse[space.ordinal()].get();
    }

    /** Bytes held from the operating system or driver in {@code space} now. */
    public long reservedBytes(MemorySpace space) {
        journals.post();
        return books.reserved[space.ordinal()].get();
    }

    /** Bytes held from the operating system or driver in all spaces now. */
    public long reservedBytes() {
        journals.post();
        long sum = 0;
        for (PeakTotal total : books.reserved) {
            sum += total.get();
        }
        return sum;
    }

    /** Java collections so far, those that somebody asked for included. */
    public long collections() {
        return books.flows.collections(false) + books.flows.collections(true);
    }

    public long reservedBytes(AllocationKind kind, MemorySpace space) {
        FlowCounters flows = flows();
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
        return journals.posted(() -> books.inUsePeak.largest(owners));
    }

    /** When most was held from the operating system or driver in one space. */
    public PeakMoment reservedPeak() {
        return journals.posted(() -> books.reservedPeak.largest(owners));
    }

    /** What every owner has and had, in no particular order. O(owners). */
    public List<OwnerUsage> usage() {
        return journals.posted(books::usage);
    }

    /** Workspace instances that still exist, dead threads' ones until collected. */
    public Collection<WorkspaceAccount> accounts() {
        journals.post();
        return List.copyOf(books.accounts.values());
    }

    /** Live allocations with memory of their own. O(n) copy: for reports, not for scraping. */
    public List<LiveAllocation> liveAllocations() {
        return journals.posted(() -> List.copyOf(books.live.values()));
    }

    /** Hands each live allocation with memory of its own and its key to {@code action}; those that begin or end meanwhile may be missed. */
    public void forEachLive(BiConsumer<Long, LiveAllocation> action) {
        journals.posted(books.live::entries).forEach(action);
    }

    public @Nullable LiveAllocation find(long key) {
        return journals.posted(() -> books.live.get(key));
    }

    /** What was refused, oldest first; the latest {@value FailureMoment#MOST_FAILURES}. */
    public List<FailureMoment> failures() {
        return journals.posted(failures::all);
    }

    /** Flows since the start; what is read from the result later may miss events after this call. */
    public FlowCounters flows() {
        journals.post();
        return books.flows;
    }

    /** What happened in the workspaces of each name since the start, closed instances included. */
    public Map<String, WorkspaceFlows> workspaceFlows() {
        journals.post();
        return Map.copyOf(flowsByWorkspace);
    }

    /** Java heap that the books themselves take, estimated from the number of their entries. */
    public long memoryBytes() {
        journals.post();
        return LIVE_BYTES * (books.live.size() + books.views.size())
                + OWNER_BYTES * owners.size()
                + WORKSPACE_BYTES * books.accounts.size()
                + SLOT_BYTES * owners.capacity()
                + journals.memoryBytes();
    }

    /** Events handed to sinks and books so far. */
    public long events() {
        return journals.posted(books::events);
    }

    /** In use by category, categories without bytes left out. */
    public Map<Category, Long> inUseByCategory() {
        return byCategory(categoryBytes());
    }

    static Map<Category, Long> byCategory(long[] bytes) {
        Map<Category, Long> result = new EnumMap<>(Category.class);
        for (Category category : CATEGORIES) {
            if (bytes[category.ordinal()] != 0) {
                result.put(category, bytes[category.ordinal()]);
            }
        }
        return result;
    }

    private long[] categoryBytes() {
        return journals.posted(books::categoryBytes);
    }

    private WorkspaceFlows flowsOf(String workspace) {
        String name = flowsByWorkspace.size() < MAX_WORKSPACE_NAMES || flowsByWorkspace.containsKey(workspace)
                ? workspace
                : WorkspaceFlows.SHARED;
        return flowsByWorkspace.computeIfAbsent(name, n -> new WorkspaceFlows());
    }
}
