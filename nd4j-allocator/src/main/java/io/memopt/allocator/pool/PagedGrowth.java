// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Growth by pages. A region of addresses, far larger than the memory, is reserved once; pages are put behind it where they
 * are needed:
 *
 * <pre>
 *   | live | free | live |  hole (addresses only) ...          a block larger than any free one is wanted:
 *   | live | free | live |  new block  | hole ...              new pages, or the pages of free blocks
 * </pre>
 *
 * A free block in front of a hole is extended in place. Up to a slack above what was ever live, pages are obtained; beyond
 * that the pages of free blocks, smallest first, are moved to where they are needed, so that fragments cost addresses and no
 * memory. Moves cost driver calls: each time as many pages were moved as there are, the slack becomes larger, until a layout
 * is found that needs no moves. A page is moved or given back only from a block that the device is through with.
 */
final class PagedGrowth implements Growth {
    /** Of what was ever live, what is obtained beyond what is asked for. */
    private static final double AHEAD = 0.015;

    private static final double FIRST_SLACK = 0.03;
    private static final double MORE_SLACK = 0.03;
    private static final double MOST_SLACK = 0.25;

    private final MemorySource source;
    private final FreeList ready;
    private final long limitBytes;
    private final long pageBytes;
    private final List<Region> regions = new ArrayList<>();
    private final List<Block> holes = new ArrayList<>();
    /** Pages behind no address. */
    private final ArrayDeque<Long> spare = new ArrayDeque<>();

    private long pages;
    private long movedPages;

    PagedGrowth(MemorySource source, FreeList ready, long limitBytes) {
        this.source = source;
        this.ready = ready;
        this.limitBytes = limitBytes;
        this.pageBytes = source.pageBytes();
    }

    @Override
    public long reservedBytes() {
        return pages * pageBytes;
    }

    @Override
    public boolean grow(long bytes, long livePeak) {
        Block hole = cheapestHole(bytes);
        if (hole == null) {
            hole = newRegion(bytes);
        }
        if (hole == null) {
            return false;
        }
        long[] handles = gather(hole, missingPages(hole, bytes), livePeak);
        if (handles == null) {
            return false;
        }
        fill(hole, handles);
        return true;
    }

    @Override
    public void shrink(long keepBytes) {
        while (!spare.isEmpty()) {
            destroy(spare.removeFirst());
        }
        for (Block block : ready.blocks(block -> wholePages(block) > 0)) {
            long excess = ready.bytes() - keepBytes;
            if (excess >= pageBytes) {
                long count = Math.min(wholePages(block), excess / pageBytes);
                for (long handle : vacate(block, (int) count)) {
                    destroy(handle);
                }
            }
        }
    }

    @Override
    public void close() {
        shrink(0);
        for (Region region : regions) {
            source.release(region.address, region.bytes);
        }
        regions.clear();
        holes.clear();
    }

    // ---- addresses

    /** The hole that needs fewest pages, the lowest of several; null when none is large enough. */
    private @Nullable Block cheapestHole(long bytes) {
        Block best = null;
        for (Block hole : holes) {
            if (roomAt(hole) >= bytes && (best == null || isCheaper(hole, best, bytes))) {
                best = hole;
            }
        }
        return best;
    }

    private boolean isCheaper(Block hole, Block other, long bytes) {
        int pagesHere = missingPages(hole, bytes);
        int pagesThere = missingPages(other, bytes);
        return pagesHere < pagesThere || (pagesHere == pagesThere && hole.address < other.address);
    }

    private long roomAt(Block hole) {
        return readyBytes(hole.before) + hole.bytes + readyBytes(hole.after);
    }

    private int missingPages(Block hole, long bytes) {
        long missing = bytes - readyBytes(hole.before);
        long needed = (missing + pageBytes - 1) / pageBytes;
        return Math.toIntExact(Math.min(needed, hole.bytes / pageBytes));
    }

    private long readyBytes(@Nullable Block block) {
        return block != null && block.home == ready ? block.bytes : 0;
    }

    /** Twice the memory of the device, so that addresses do not run out before memory does. */
    private @Nullable Block newRegion(long bytes) {
        long size = roundUp(Math.max(bytes, 2 * Math.min(source.deviceBytes(), limitBytes)));
        long address = source.reserve(size);
        if (address == MemorySource.NONE) {
            return null;
        }
        regions.add(new Region(address, size, pageBytes));
        Block hole = new Block(address, size, null);
        hole.hole = true;
        holes.add(hole);
        return hole;
    }

    private long roundUp(long bytes) {
        return (bytes + pageBytes - 1) / pageBytes * pageBytes;
    }

    // ---- pages

    /**
     * Pages for {@code hole}, at least {@code count}; or null, and then those found are spare. What is needed a little at a time,
     * as by arrays that wait for the collector, is obtained ahead, so that few requests go to the device.
     */
    private long @Nullable [] gather(Block hole, int count, long livePeak) {
        long[] handles = new long[count + ahead(hole, count, livePeak)];
        int found = takeSpare(handles);
        found = create(handles, handles.length, found, Math.min(limitBytes, (long) (slack() * livePeak)));
        found = steal(handles, count, found, hole);
        found = create(handles, count, found, limitBytes);
        if (found >= count) {
            return Arrays.copyOf(handles, found);
        }
        keepSpare(handles, found);
        return null;
    }

    private int ahead(Block hole, int count, long livePeak) {
        return Math.toIntExact(Math.min((long) (AHEAD * livePeak), hole.bytes - count * pageBytes) / pageBytes);
    }

    private double slack() {
        return 1 + Math.min(MOST_SLACK, FIRST_SLACK + MORE_SLACK * movedPages / Math.max(1, pages));
    }

    private int takeSpare(long[] handles) {
        int found = 0;
        while (found < handles.length && !spare.isEmpty()) {
            handles[found++] = spare.removeFirst();
        }
        return found;
    }

    private int create(long[] handles, int wanted, int found, long boundBytes) {
        int count = found;
        while (count < wanted && boundBytes - reservedBytes() >= pageBytes) {
            long handle = source.createPage();
            if (handle == MemorySource.NONE) {
                return count;
            }
            handles[count++] = handle;
            pages++;
        }
        return count;
    }

    /** Neighbours of the hole are spared: they are to be part of the block. */
    private int steal(long[] handles, int wanted, int found, Block hole) {
        int count = found;
        if (count >= wanted) {
            return count;
        }
        for (Block block :
                ready.blocks(block -> wholePages(block) > 0 && block != hole.before && block != hole.after)) {
            if (count == wanted) {
                break;
            }
            long[] taken = vacate(block, (int) Math.min(wholePages(block), wanted - count));
            System.arraycopy(taken, 0, handles, count, taken.length);
            count += taken.length;
            movedPages += taken.length;
        }
        return count;
    }

    private void destroy(long handle) {
        source.destroyPage(handle);
        pages--;
    }

    private long firstPage(Block block) {
        return roundUp(block.address);
    }

    private long wholePages(Block block) {
        return Math.max(0, block.end() / pageBytes - firstPage(block) / pageBytes);
    }

    /** Makes the first {@code count} whole pages of a ready block a hole; returns them. */
    private long[] vacate(Block block, int count) {
        long start = firstPage(block);
        source.unmap(start, count);
        ready.remove(block);
        Block middle = block;
        if (start > block.address) {
            middle = block.split(start - block.address);
            ready.add(block);
        }
        if (middle.bytes > count * pageBytes) {
            ready.add(middle.split(count * pageBytes));
        }
        long[] handles = region(start).take(start, count);
        becomeHole(middle);
        return handles;
    }

    private void becomeHole(Block block) {
        Block whole = block;
        block.hole = true;
        Block before = block.before;
        if (before != null && before.hole) {
            before.absorbNext();
            whole = before;
        } else {
            holes.add(block);
        }
        Block after = whole.after;
        if (after != null && after.hole) {
            holes.remove(after);
            whole.absorbNext();
        }
    }

    private void fill(Block hole, long[] handles) {
        if (handles.length > 0) {
            map(hole.address, handles);
            region(hole.address).put(hole.address, handles);
        }
        holes.remove(hole);
        if (hole.bytes > handles.length * pageBytes) {
            holes.add(hole.split(handles.length * pageBytes));
        }
        hole.hole = false;
        ready.merge(hole);
    }

    private void map(long address, long[] handles) {
        try {
            source.map(address, handles);
        } catch (MemorySourceException e) {
            keepSpare(handles, handles.length);
            throw e;
        }
    }

    private void keepSpare(long[] handles, int count) {
        for (int i = 0; i < count; i++) {
            spare.addLast(handles[i]);
        }
    }

    private Region region(long address) {
        for (Region region : regions) {
            if (region.holds(address)) {
                return region;
            }
        }
        throw new IllegalStateException("address=" + address + " is in no region");
    }
}
