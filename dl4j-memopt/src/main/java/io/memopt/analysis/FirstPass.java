// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceVisitor;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;

/** Finds when the peaks are, how often what happens, and what each workspace needed in the end. */
final class FirstPass implements TraceVisitor, LiveSet.Listener {
    private static final MemorySpace[] SPACES = MemorySpace.values();
    private static final int PROGRESS = 0xffff;
    private static final long SCALARS_BYTES = 4096;

    final LiveSet live;
    final Owners owners;
    final WorkspaceBook workspaces;
    final ThreadBook threads;
    final Top[][] tops = new Top[Measure.values().length][SPACES.length];
    /** Start events of detached arrays that a deallocator thread freed. */
    final BitSet collected = new BitSet();

    private final SiteBook sites;

    final Map<Integer, Window> windows = new HashMap<>();
    Window lastWindow = new Window(0, 0, -1);
    long iterations;
    long passes;
    long firstNanos = Long.MAX_VALUE;
    long lastNanos = Long.MIN_VALUE;
    long events;
    /** Events that tell a last use; 0 when uses were not recorded. */
    long lastUses;

    /** Arenas in host memory that would stand in for networks' workspaces, for trainings whose uses were recorded. */
    final ArenaBook arenas = new ArenaBook(true);

    int maxLive;
    int maxActiveThreads;
    private int activeThreads;
    private long time;
    private final List<Integer> wantedWindows;
    private final LongConsumer progress;

    FirstPass(TraceReader reader, AnalysisOptions options) {
        live = new LiveSet(reader.header().startNanos(), this);
        owners = new Owners(reader::owner);
        workspaces = new WorkspaceBook(reader::workspace);
        threads = new ThreadBook(reader::threadName);
        sites = new SiteBook(live, reader::site);
        wantedWindows = options.profiles();
        progress = options.progress();
        for (Top[] ofMeasure : tops) {
            for (int i = 0; i < ofMeasure.length; i++) {
                ofMeasure[i] = new Top();
            }
        }
    }

    /** The device if anything was there, else the space with the largest reserved peak. */
    MemorySpace focus() {
        Top[] reserved = tops[Measure.RESERVED.ordinal()];
        if (reserved[MemorySpace.DEVICE.ordinal()].bytes > 0) {
            return MemorySpace.DEVICE;
        }
        return reserved[MemorySpace.PINNED.ordinal()].bytes > reserved[MemorySpace.HOST.ordinal()].bytes
                ? MemorySpace.PINNED
                : MemorySpace.HOST;
    }

    /** Whether networks had arrays in their workspaces; without workspaces, a scalar may be there all the same. */
    boolean usesNetworkWorkspaces() {
        return workspaces.all().stream()
                .anyMatch(entry -> NetworkWorkspaces.serves(entry.info.name()) && entry.needed() > SCALARS_BYTES);
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        time = timeNanos;
        firstNanos = Math.min(firstNanos, timeNanos);
        lastNanos = Math.max(lastNanos, timeNanos);
        if ((++events & PROGRESS) == 0) {
            progress.accept(events);
        }
        EventKind kind = EventCode.kind(code);
        if (kind == EventKind.SCOPE_ENTER) {
            WorkspaceBook.Entry entry = workspaces.entry(workspace, owners.get(owner), thread, timeNanos);
            entry.entered(timeNanos, events - 1);
            if (entry.info.circular()) {
                live.markCircular(workspace);
            }
        }
        live.accept(code, timeNanos, thread, owner, workspace, address, bytes, extra);
        if (kind == EventKind.CONTEXT) {
            if (threads.entry(thread, timeNanos).enters(owners.get(owner).phase())) {
                passes++;
            }
        } else if (kind == EventKind.ITERATION) {
            iterationEnded(thread);
        } else if (kind == EventKind.LAST_USE) {
            lastUses++;
        }
    }

    @Override
    public void gap(long missing) {
        live.gap(missing);
    }

    @Override
    public void began(int slot) {
        AllocationKind kind = live.kind(slot);
        MemorySpace space = live.space(slot);
        maxLive = Math.max(maxLive, live.size());
        if (kind.ownsMemory()) {
            tops[0][space.ordinal()].offer(live.reservedBytes(space), time, live.event(), iterations, live.owner(slot));
        }
        if (kind != AllocationKind.WORKSPACE_BLOCK) {
            tops[1][space.ordinal()].offer(live.inUseBytes(space), time, live.event(), iterations, live.owner(slot));
        }
        Owner owner = owners.get(live.owner(slot));
        ThreadBook.Entry thread = threads.entry(live.thread(slot), time);
        if (kind == AllocationKind.DETACHED && Detached.isResult(kind, owner)) {
            thread.resultAllocated(live.owner(slot), live.roundedBytes(slot));
        }
        sites.began(slot);
        int workspace = live.workspace(slot);
        if (workspace != WorkspaceTable.NONE) {
            WorkspaceBook.Entry entry = workspaces.entry(workspace, owner, live.thread(slot), time);
            entry.began(kind, space, live.requestedBytes(slot), live.roundedBytes(slot), time);
            if (ArenaBook.counts(kind, workspace, entry.info.circular())) {
                boolean served = space == MemorySpace.HOST && NetworkWorkspaces.serves(entry.info.name());
                arenas.born(live, slot, served, owner.phase() == Phase.INFERENCE || owner.phase() == Phase.EVALUATION);
            }
            if (kind == AllocationKind.WORKSPACE_ARRAY && !entry.info.circular()) {
                activeThreads += threads.entry(entry.info.threadId(), time).arrays++ == 0 ? 1 : 0;
                maxActiveThreads = Math.max(maxActiveThreads, activeThreads);
            }
        }
    }

    @Override
    public void origin(int slot, long views, int site) {
        sites.origin(slot, views, site);
    }

    /** What is known of layers' leftovers at the end of the trace. */
    Residues residues() {
        return new Residues(sites.largest(), owners);
    }

    @Override
    public void ended(int slot, long timeNanos, long thread) {
        AllocationKind kind = live.kind(slot);
        int workspace = live.workspace(slot);
        arenas.ended(slot);
        if (workspace != WorkspaceTable.NONE) {
            Owner owner = owners.get(live.owner(slot));
            WorkspaceBook.Entry entry = workspaces.entry(workspace, owner, live.thread(slot), timeNanos);
            entry.ended(kind, live.space(slot), live.roundedBytes(slot), timeNanos, live.event());
            if (kind == AllocationKind.WORKSPACE_ARRAY && !entry.info.circular()) {
                activeThreads -= --threads.entry(entry.info.threadId(), timeNanos).arrays == 0 ? 1 : 0;
            }
        } else if (kind == AllocationKind.DETACHED
                && live.startEvent(slot) <= Integer.MAX_VALUE
                && threads.isDeallocator(thread)) {
            collected.set((int) live.startEvent(slot));
        }
    }

    @Override
    public void lastUsed(int slot, long lastUseNanos, long span) {
        arenas.lastUsed(slot, span);
    }

    private void iterationEnded(long thread) {
        ThreadBook.Entry entry = threads.entry(thread, time);
        entry.iterations++;
        lastWindow = new Window(thread, entry.startEvent, live.event());
        if (wantedWindows.contains((int) iterations)) {
            windows.put((int) iterations, lastWindow);
        }
        iterations++;
        entry.startEvent = live.event() + 1;
    }

    /** Events {@code [first, last]} of one thread. */
    record Window(long thread, long first, long last) {}

    /** The largest value of a sum and when it was. */
    static final class Top {
        long bytes;
        long timeNanos;
        long event = -1;
        long iteration;
        int owner;

        void offer(long value, long at, long number, long iterationsBefore, int by) {
            if (value > bytes) {
                bytes = value;
                timeNanos = at;
                event = number;
                iteration = iterationsBefore;
                owner = by;
            }
        }
    }
}
