// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a pool must keep to, by brute force over lists: no two live blocks overlap, all are backed and aligned, and no byte
 * is handed to a stream, moved or given back before the device has passed its free. Sits between pool and device to see
 * pages and events.
 */
final class PoolModel implements MemorySource, StreamEvents {
    final SimulatedDevice device;
    private final List<Range> live = new ArrayList<>();
    private final List<Range> freed = new ArrayList<>();
    /** Number of the last free that an event covers, and its stream. */
    private final Map<Long, long[]> events = new HashMap<>();

    private final Map<Long, Long> passed = new HashMap<>();
    private long frees;

    PoolModel(SimulatedDevice device) {
        this.device = device;
    }

    void allocated(long address, long bytes, long stream) {
        Range block = new Range(address, MemoryPool.rounded(bytes), stream, 0);
        assertThat(address % FreeList.UNIT).as("alignment of %d", address).isZero();
        assertThat(device.isBacked(address, block.bytes))
                .as("memory behind %s", block)
                .isTrue();
        assertThat(live).as("overlap with %s", block).noneMatch(block::overlaps);
        for (Range range : freed) {
            boolean own = range.stream == stream && stream != EVERY_STREAM;
            assertThat(!block.overlaps(range) || own || isPassed(range))
                    .as("%s while the device may use %s", block, range)
                    .isTrue();
        }
        coverFreed(block);
        live.add(block);
    }

    /** Whoever frees the new block answers for what was freed there before, too. */
    private void coverFreed(Range block) {
        for (Range range : List.copyOf(freed)) {
            if (block.overlaps(range)) {
                freed.remove(range);
                addFreed(range, range.address, block.address);
                addFreed(range, block.address + block.bytes, range.address + range.bytes);
            }
        }
    }

    private void addFreed(Range whole, long start, long end) {
        if (start < end) {
            freed.add(new Range(start, end - start, whole.stream, whole.number));
        }
    }

    /** Call before the pool hears of it. */
    void freed(long address, long stream) {
        Range block = live.stream()
                .filter(range -> range.address == address)
                .findFirst()
                .orElseThrow();
        live.remove(block);
        freed.add(new Range(address, block.bytes, stream, ++frees));
    }

    long liveBytes() {
        return live.stream().mapToLong(Range::bytes).sum();
    }

    private boolean isPassed(Range range) {
        return passed.getOrDefault(range.stream, 0L) >= range.number
                || passed.getOrDefault(EVERY_STREAM, 0L) >= range.number;
    }

    private void mayGo(long address, long bytes) {
        Range gone = new Range(address, bytes, EVERY_STREAM, 0);
        assertThat(live).as("%s taken away from a live block", gone).noneMatch(gone::overlaps);
        assertThat(freed)
                .as("%s taken away while the device may use it", gone)
                .noneMatch(range -> gone.overlaps(range) && !isPassed(range));
    }

    private void pass(long event) {
        long[] mark = events.get(event);
        passed.merge(mark[1], mark[0], Math::max);
    }

    @Override
    public long record(long stream) {
        long event = device.record(stream);
        events.put(event, new long[] {frees, stream});
        return event;
    }

    @Override
    public boolean isDone(long event) {
        boolean done = device.isDone(event);
        if (done) {
            pass(event);
        }
        return done;
    }

    @Override
    public void await(long event) {
        device.await(event);
        pass(event);
    }

    @Override
    public void discard(long event) {
        device.discard(event);
        events.remove(event);
    }

    @Override
    public String name() {
        return device.name();
    }

    @Override
    public boolean mapsPages() {
        return device.mapsPages();
    }

    @Override
    public long pageBytes() {
        return device.pageBytes();
    }

    @Override
    public long deviceBytes() {
        return device.deviceBytes();
    }

    @Override
    public long reserve(long bytes) {
        return device.reserve(bytes);
    }

    @Override
    public void release(long address, long bytes) {
        mayGo(address, bytes);
        device.release(address, bytes);
    }

    @Override
    public @Nullable Extent createExtent(int pages) {
        return device.createExtent(pages);
    }

    @Override
    public void destroyExtent(Extent extent) {
        device.destroyExtent(extent);
    }

    @Override
    public void map(long address, List<Extent> extents) {
        device.map(address, extents);
    }

    @Override
    public void unmap(long address, List<Extent> extents) {
        mayGo(address, Extent.pages(extents) * pageBytes());
        device.unmap(address, extents);
    }

    @Override
    public SourceCalls calls() {
        return device.calls();
    }

    private record Range(long address, long bytes, long stream, long number) {
        boolean overlaps(Range other) {
            return address < other.address + other.bytes && other.address < address + bytes;
        }
    }
}
