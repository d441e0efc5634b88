// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.recording.TraceHeader;
import io.memopt.allocator.recording.TraceVisitor;
import java.io.Writer;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/** The second pass over a trace: fills everything that the page shows; see {@link PageData} for what becomes of it. */
final class PageRecorder implements TraceVisitor {
    /** Pauses of the collector beyond this number are counted, not shown. */
    private static final int MOST_COLLECTIONS = 20_000;

    /** Workspace blocks beyond this number are not outlined on the address axis. */
    private static final int MOST_BLOCKS = 20_000;

    /** The pictures of one memory space. */
    record View(MemorySpace space, TimelineBins bins, AddressGrid grid) {}

    /** A workspace block on the address axis. */
    record Block(MemorySpace space, int workspace, long birth, long death, long place, long bytes) {}

    /** End of an iteration. */
    record Iteration(long time, long number, long epoch, int owner) {}

    /** A pause of the Java garbage collector that ended at {@code time}. */
    record Collection(long time, long durationNanos, boolean forced) {}

    final TraceScan scan;
    final OwnerHistory history = new OwnerHistory();
    final LayerPeaks layers;
    final WorkspaceHistory workspaces;
    final LifetimeBlocks lifetimes;
    final ContextBlocks contexts;
    final LifetimeTracker tracker;
    final List<View> views = new ArrayList<>();
    /** What each owner had at the peak of a space: bytes and number of arrays. */
    final Map<MemorySpace, Map<Integer, long[]>> peaks = new EnumMap<>(MemorySpace.class);

    final List<Block> blocks = new ArrayList<>();
    final List<Iteration> iterations = new ArrayList<>();
    final List<Collection> collections = new ArrayList<>();
    long failures;
    long failedBytes;

    private final PageClock clock;
    private final long busiestThread;
    private final long sampleEvery;
    private long lastEvent = -1;

    PageRecorder(TraceHeader header, TraceScan scan, IntFunction<Owner> owners, Writer out, long most) {
        this.scan = scan;
        clock = new PageClock(header.startNanos());
        busiestThread = scan.busiestThread();
        tracker = new LifetimeTracker(owners, new Books());
        layers = new LayerPeaks(owners);
        workspaces = new WorkspaceHistory(scan.memoryEvents(), scan.endTime());
        lifetimes = new LifetimeBlocks(
                out, lifetime -> scan.addresses(lifetime.space).placeOf(lifetime.address), most);
        contexts = new ContextBlocks(out);
        for (MemorySpace space : scan.spaces()) {
            views.add(new View(
                    space,
                    new TimelineBins(scan.memoryEvents(), scan.endTime()),
                    new AddressGrid(
                            scan.memoryEvents(),
                            scan.endTime(),
                            scan.addresses(space).height())));
        }
        long steps = samplesByIteration() ? scan.iterations() : scan.memoryEvents();
        sampleEvery = Math.max(1, (steps + OwnerHistory.MOST_SAMPLES - 1) / OwnerHistory.MOST_SAMPLES);
    }

    /** True when owners are looked at after iterations, false when after so many events. */
    private boolean samplesByIteration() {
        return scan.iterations() >= 8;
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        long time = clock.next(timeNanos);
        if (LifetimeTracker.changesMemory(code)) {
            memory(code, time, owner, workspace, address, bytes, extra);
            return;
        }
        switch (EventCode.kind(code)) {
            case CONTEXT -> {
                if (thread == busiestThread) {
                    contexts.add(time, owner);
                }
            }
            case ITERATION -> {
                iterations.add(new Iteration(time, bytes, extra, owner));
                if (samplesByIteration() && iterations.size() % sampleEvery == 0) {
                    history.sample(time);
                }
            }
            case SCOPE_ENTER -> workspaces.entered(workspace, time);
            case GARBAGE_COLLECTION -> collected(time, bytes, extra != 0);
            case ALLOCATION_FAILURE -> {
                failures++;
                failedBytes = Math.max(failedBytes, bytes);
            }
            default -> {}
        }
    }

    /** Ends the pass: what is still live gets its place in the pictures. */
    PageRecorder complete() {
        long end = scan.endTime();
        tracker.forEachLive(lifetime -> {
            lifetimes.add(lifetime, Lifetime.NEVER, lastEvent);
            paint(lifetime, end);
        });
        lifetimes.complete();
        contexts.complete();
        workspaces.complete();
        views.forEach(view -> view.bins.complete(tracker.totals(view.space)));
        return this;
    }

    private void memory(int code, long time, int owner, int workspace, long address, long bytes, long extra) {
        for (View view : views) {
            view.bins.pause(time, tracker.totals(view.space));
        }
        workspaces.at(lastEvent + 1, time);
        lastEvent = tracker.accept(code, time, owner, workspace, address, bytes, extra);
        for (View view : views) {
            view.bins.add(lastEvent, time, tracker.totals(view.space));
            if (scan.peakEvent(view.space) == lastEvent) {
                peaks.put(view.space, composition(view.space));
            }
        }
        if (!samplesByIteration() && (lastEvent + 1) % sampleEvery == 0) {
            history.sample(time);
        }
    }

    private Map<Integer, long[]> composition(MemorySpace space) {
        Map<Integer, long[]> byOwner = new HashMap<>();
        tracker.forEachLive(lifetime -> {
            if (lifetime.space == space && !lifetime.isBlock()) {
                long[] sums = byOwner.computeIfAbsent(lifetime.owner, id -> new long[2]);
                sums[0] += lifetime.bytes;
                sums[1]++;
            }
        });
        return byOwner;
    }

    private void collected(long time, long duration, boolean forced) {
        if (collections.size() < MOST_COLLECTIONS) {
            collections.add(new Collection(time, duration, forced));
        }
    }

    private void paint(Lifetime lifetime, long death) {
        long place = scan.addresses(lifetime.space).placeOf(lifetime.address);
        if (place < 0) {
            return;
        }
        if (!lifetime.isBlock()) {
            int category = tracker.categoryOf(lifetime.owner);
            for (View view : views) {
                if (view.space == lifetime.space) {
                    view.grid.add(category, lifetime.birth, death, place, lifetime.bytes);
                }
            }
        } else if (blocks.size() < MOST_BLOCKS) {
            blocks.add(new Block(lifetime.space, lifetime.workspace, lifetime.birth, death, place, lifetime.bytes));
        }
    }

    /** Hears of single lifetimes. */
    private final class Books implements LifetimeTracker.Observer {
        @Override
        public void born(Lifetime lifetime) {
            workspaces.born(lifetime);
            if (!lifetime.isBlock()) {
                history.change(lifetime.owner, lifetime.space, lifetime.bytes);
                layers.born(lifetime);
            }
        }

        @Override
        public void died(Lifetime lifetime, long death, long deathEvent) {
            workspaces.died(lifetime);
            lifetimes.add(lifetime, death, deathEvent);
            paint(lifetime, death);
            if (!lifetime.isBlock()) {
                history.change(lifetime.owner, lifetime.space, -lifetime.bytes);
                layers.died(lifetime);
            }
        }

        @Override
        public void moved(Lifetime before, Lifetime after) {
            if (!before.isBlock()) {
                layers.moved(before, after);
            }
        }
    }
}
