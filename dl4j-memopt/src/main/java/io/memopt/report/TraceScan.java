// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.LiveReplay;
import io.memopt.allocator.recording.TraceHeader;
import io.memopt.allocator.recording.TraceVisitor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The first pass over a trace: how much there is of everything, which addresses are in use, and when the peaks are. */
final class TraceScan implements TraceVisitor {
    private static final MemorySpace[] SPACES = MemorySpace.values();

    private final LiveReplay replay;
    private final PageClock clock;
    private final List<AddressMap> addresses = new ArrayList<>();
    private final long[] allocations = new long[SPACES.length];
    private final long[] peakEvent = new long[SPACES.length];
    private final long[] peakTime = new long[SPACES.length];
    private final long[] reservedPeak = new long[SPACES.length];
    private final long[] reservedPeakTime = new long[SPACES.length];
    private final long[] usedPeak = new long[SPACES.length];
    private final Map<Long, long[]> contexts = new HashMap<>();
    private long memoryEvents;
    private long iterations;

    TraceScan(TraceHeader header) {
        replay = new LiveReplay(header.startNanos());
        clock = new PageClock(header.startNanos());
        Arrays.fill(peakEvent, -1);
        for (int i = 0; i < SPACES.length; i++) {
            addresses.add(new AddressMap());
        }
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        long time = clock.next(timeNanos);
        EventKind kind = EventCode.kind(code);
        if (LifetimeTracker.changesMemory(code)) {
            replay.accept(code, timeNanos, thread, owner, workspace, address, bytes, extra);
            if (kind == EventKind.ALLOCATE) {
                int space = EventCode.space(code).ordinal();
                allocations[space]++;
                if (address != 0) {
                    addresses.get(space).use(address, extra);
                }
                notePeaks(space, time);
            } else if (kind == EventKind.RECLASSIFY) {
                notePeaks(EventCode.space(code).ordinal(), time);
            }
            memoryEvents++;
        } else if (kind == EventKind.ITERATION) {
            iterations++;
        } else if (kind == EventKind.CONTEXT) {
            contexts.computeIfAbsent(thread, id -> new long[1])[0]++;
        }
    }

    @Override
    public void gap(long events) {
        replay.gap(events);
    }

    private void notePeaks(int space, long time) {
        long used = replay.peakInUseBytes(SPACES[space]);
        if (used > usedPeak[space]) {
            usedPeak[space] = used;
            peakEvent[space] = memoryEvents;
            peakTime[space] = time;
        }
        long reserved = replay.peakReservedBytes(SPACES[space]);
        if (reserved > reservedPeak[space]) {
            reservedPeak[space] = reserved;
            reservedPeakTime[space] = time;
        }
    }

    /** Ends the pass. */
    TraceScan complete() {
        addresses.forEach(AddressMap::complete);
        return this;
    }

    LiveReplay replay() {
        return replay;
    }

    AddressMap addresses(MemorySpace space) {
        return addresses.get(space.ordinal());
    }

    /** Spaces that something was allocated in; never empty. */
    List<MemorySpace> spaces() {
        List<MemorySpace> used = Arrays.stream(SPACES)
                .filter(space -> allocations[space.ordinal()] > 0)
                .toList();
        return used.isEmpty() ? List.of(MemorySpace.HOST) : used;
    }

    /** Number of the event after which most was in use, -1 if never any. */
    long peakEvent(MemorySpace space) {
        return peakEvent[space.ordinal()];
    }

    long peakTime(MemorySpace space) {
        return peakTime[space.ordinal()];
    }

    long reservedPeakTime(MemorySpace space) {
        return reservedPeakTime[space.ordinal()];
    }

    long memoryEvents() {
        return memoryEvents;
    }

    long iterations() {
        return iterations;
    }

    /** Time of the last event, at least 1. */
    long endTime() {
        return Math.max(1, clock.last());
    }

    /** The thread that did most for networks, or -1. */
    long busiestThread() {
        return contexts.entrySet().stream()
                .max(Map.Entry.comparingByValue((a, b) -> Long.compare(a[0], b[0])))
                .map(Map.Entry::getKey)
                .orElse(-1L);
    }
}
