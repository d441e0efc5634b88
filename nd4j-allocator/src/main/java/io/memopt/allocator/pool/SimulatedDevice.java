// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A device without hardware: memory as numbers, work that finishes when someone says so. Deterministic. Fails as a device
 * does, when its memory is used up or when told to, and throws {@link IllegalStateException} on what a driver would call
 * undefined: mapping twice, giving back what is in use, unmapping what is not mapped.
 *
 * <p>Threading: safe, under one lock.
 */
public final class SimulatedDevice implements MemorySource, StreamEvents {
    private static final long FIRST_ADDRESS = 0x7f00_0000_0000L;

    private final long deviceBytes;
    private final long pageBytes;
    private final boolean mapsPages;
    private final TreeMap<Long, Long> reservations = new TreeMap<>();
    private final Map<Long, Long> pageAt = new HashMap<>();
    /** Pages of each extent by its handle. */
    private final Map<Long, Integer> extents = new HashMap<>();

    private final Set<Long> mappedExtents = new HashSet<>();
    private final Map<Long, Long> streamOf = new HashMap<>();
    private final Set<Long> pending = new HashSet<>();
    private final ArrayDeque<Long> order = new ArrayDeque<>();

    private long nextAddress = FIRST_ADDRESS;
    private long nextHandle = 1;
    private long nextEvent = 1;
    private long segmentBytes;
    private long failures;
    private long mapFailures;
    private long obtained;
    private long mapped;
    private long returned;
    private boolean instant = true;

    /**
     * A device that maps pages, or one that does not.
     *
     * @param deviceBytes its memory
     * @param pageBytes a power of two
     */
    public SimulatedDevice(long deviceBytes, long pageBytes, boolean mapsPages) {
        if (Long.bitCount(pageBytes) != 1 || deviceBytes < pageBytes) {
            throw new IllegalArgumentException("deviceBytes=" + deviceBytes + ", pageBytes=" + pageBytes
                    + ", expected a power of two of at most deviceBytes");
        }
        this.deviceBytes = deviceBytes;
        this.pageBytes = pageBytes;
        this.mapsPages = mapsPages;
    }

    /** From now on work is finished only by {@link #finish}, {@link #finishAll} and {@link #await}. */
    public synchronized void beBusy() {
        instant = false;
    }

    /** The next {@code count} requests for memory fail as if there was none. */
    public synchronized void failNext(long count) {
        failures = count;
    }

    /** The next {@code count} calls of {@link #map} fail with a {@link MemorySourceException}. */
    public synchronized void failNextMaps(long count) {
        mapFailures = count;
    }

    /** Memory taken, in bytes. */
    public synchronized long usedBytes() {
        return extents.values().stream().mapToLong(Integer::longValue).sum() * pageBytes + segmentBytes;
    }

    /** Events recorded, not finished. */
    public synchronized int pendingEvents() {
        return pending.size();
    }

    /** True if there is memory behind all of the range. */
    public synchronized boolean isBacked(long address, long bytes) {
        if (!mapsPages) {
            Map.Entry<Long, Long> segment = reservations.floorEntry(address);
            return segment != null && address + bytes <= segment.getKey() + segment.getValue();
        }
        for (long page = address / pageBytes; page * pageBytes < address + bytes; page++) {
            if (!pageAt.containsKey(page)) {
                return false;
            }
        }
        return true;
    }

    @Override
    public String name() {
        return mapsPages ? "simulated-pages" : "simulated-segments";
    }

    @Override
    public boolean mapsPages() {
        return mapsPages;
    }

    @Override
    public long pageBytes() {
        return pageBytes;
    }

    @Override
    public long deviceBytes() {
        return deviceBytes;
    }

    @Override
    public synchronized long reserve(long bytes) {
        check(bytes > 0 && bytes % pageBytes == 0, "reserve bytes=" + bytes);
        obtained++;
        if (!mapsPages) {
            if (refuses(bytes)) {
                return NONE;
            }
            segmentBytes += bytes;
        }
        long address = nextAddress;
        nextAddress += bytes + pageBytes; // a gap, so that ranges never touch
        reservations.put(address, bytes);
        return address;
    }

    @Override
    public synchronized void release(long address, long bytes) {
        Long known = reservations.remove(address);
        check(known != null && known == bytes, "release address=" + address + ", bytes=" + bytes);
        returned++;
        if (!mapsPages) {
            segmentBytes -= bytes;
        }
        for (long page = address / pageBytes; page < (address + bytes) / pageBytes; page++) {
            check(!pageAt.containsKey(page), "release while mapped, address=" + address);
        }
    }

    @Override
    public synchronized @Nullable Extent createExtent(int pages) {
        check(mapsPages, "createExtent without pages");
        obtained++;
        if (refuses(pages * pageBytes)) {
            return null;
        }
        Extent extent = new Extent(nextHandle++, pages);
        extents.put(extent.handle(), pages);
        return extent;
    }

    @Override
    public synchronized void destroyExtent(Extent extent) {
        check(!mappedExtents.contains(extent.handle()), "destroy while mapped, " + extent);
        check(extents.remove(extent.handle(), extent.pages()), "destroy of unknown " + extent);
        returned++;
    }

    @Override
    public synchronized void map(long address, List<Extent> memory) {
        Map.Entry<Long, Long> range = reservations.floorEntry(address);
        long end = address + Extent.pages(memory) * pageBytes;
        check(
                address % pageBytes == 0 && range != null && end <= range.getKey() + range.getValue(),
                "map outside a reservation, address=" + address);
        mapped++;
        if (mapFailures > 0) {
            mapFailures--;
            throw new MemorySourceException("map failed: as told");
        }
        long page = address / pageBytes;
        for (Extent extent : memory) {
            boolean known = extents.getOrDefault(extent.handle(), 0) == extent.pages();
            check(known && mappedExtents.add(extent.handle()), "map of " + extent);
            for (int i = 0; i < extent.pages(); i++) {
                check(pageAt.put(page++, extent.handle()) == null, "map over a page, address=" + address);
            }
        }
    }

    @Override
    public synchronized void unmap(long address, List<Extent> memory) {
        check(address % pageBytes == 0, "unmap address=" + address);
        mapped++;
        long page = address / pageBytes;
        for (Extent extent : memory) {
            check(mappedExtents.remove(extent.handle()), "unmap of what is not mapped, " + extent);
            for (int i = 0; i < extent.pages(); i++) {
                Long handle = pageAt.remove(page++);
                check(handle != null && handle == extent.handle(), "unmap of another extent than " + extent);
            }
        }
    }

    @Override
    public synchronized SourceCalls calls() {
        return new SourceCalls(obtained, mapped, returned);
    }

    // ---- events

    @Override
    public synchronized long record(long stream) {
        long event = nextEvent++;
        streamOf.put(event, stream);
        if (!instant) {
            pending.add(event);
            order.addLast(event);
        }
        return event;
    }

    @Override
    public synchronized boolean isDone(long event) {
        check(streamOf.containsKey(event), "query of unknown event=" + event);
        return !pending.contains(event);
    }

    @Override
    public synchronized void await(long event) {
        check(streamOf.containsKey(event), "wait for unknown event=" + event);
        finish(event);
    }

    @Override
    public synchronized void discard(long event) {
        check(streamOf.remove(event) != null, "discard of unknown event=" + event);
        check(!pending.contains(event), "discard of unfinished event=" + event);
    }

    /** The device gets to {@code event}, past all that its stream was given before. */
    public synchronized void finish(long event) {
        Long stream = streamOf.get(event);
        List<Long> passed = new ArrayList<>();
        for (long other : order) {
            boolean first = stream != null && (stream == EVERY_STREAM || stream.equals(streamOf.get(other)));
            if (other <= event && (first || other == event)) {
                passed.add(other);
            }
        }
        pending.removeAll(passed);
        order.removeAll(passed);
    }

    /** The device finishes all that it was given. */
    public synchronized void finishAll() {
        pending.clear();
        order.clear();
    }

    private boolean refuses(long bytes) {
        if (failures > 0) {
            failures--;
            return true;
        }
        return usedBytes() + bytes > deviceBytes;
    }

    private static void check(boolean expected, String misuse) {
        if (!expected) {
            throw new IllegalStateException("misuse of the device: " + misuse);
        }
    }
}
