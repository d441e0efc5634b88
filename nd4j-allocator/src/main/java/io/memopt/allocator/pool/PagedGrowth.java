// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Growth by pages. A region of addresses, far larger than the memory, is reserved once; memory is put behind it where it is
 * needed:
 *
 * <pre>
 *   | live | free | live |  hole (addresses only) ...          a block larger than any free one is wanted:
 *   | live | free | live |  new block  | hole ...              new pages, or the pages of free blocks
 * </pre>
 *
 * A free block in front of a hole is extended in place. Up to a slack above what was ever live, pages are obtained; beyond
 * that the pages of free blocks, smallest first, are moved to where they are needed, so that fragments cost addresses and no
 * memory. Moves cost driver calls: each time as many pages were moved as there are, the slack becomes larger, until a layout
 * is found that needs no moves. Memory is moved or given back only from a block that the device is through with.
 *
 * <p>Large growth is obtained in extents of {@value #LARGE} pages: a call of the driver takes about as long for one page. They
 * are moved and given back as a whole.
 */
final class PagedGrowth implements Growth {
    /** Of what was ever live, what is obtained beyond what is asked for; for requests of at most that. */
    private static final double AHEAD = 0.01;

    private static final double FIRST_SLACK = 0.03;
    private static final double MORE_SLACK = 0.03;
    private static final double MOST_SLACK = 0.25;
    /** Pages of a large extent, and from how many pages on growth is large: what may be left over is a small part of it. */
    private static final int LARGE = 16;

    private static final int LARGE_GROWTH = 64;

    private final MemorySource source;
    private final FreeList ready;
    private final long limitBytes;
    private final long pageBytes;
    private final List<Region> regions = new ArrayList<>();
    private final List<Block> holes = new ArrayList<>();
    /** Behind no address. */
    private final List<Extent> spare = new ArrayList<>();

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
        List<Extent> memory = gather(hole, missingPages(hole, bytes), livePeak);
        if (memory == null) {
            return false;
        }
        fill(hole, memory);
        return true;
    }

    @Override
    public void shrink(long keepBytes) {
        spare.forEach(this::destroy);
        spare.clear();
        for (Block block : ready.blocks(block -> wholePages(block) > 0)) {
            long excess = (ready.bytes() - keepBytes) / pageBytes;
            if (excess > 0) {
                vacate(block, first(whole(block), Math.toIntExact(Math.min(Integer.MAX_VALUE, excess)), false))
                        .forEach(this::destroy);
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

    // ---- memory

    /** Memory for a hole: at least so many pages, at most as many as it has room for. */
    private static final class Haul {
        private final List<Extent> extents = new ArrayList<>();
        private final int room;
        private int pages;

        Haul(int room) {
            this.room = room;
        }

        /** False when there is no room for it. */
        boolean add(Extent extent) {
            if (pages + extent.pages() > room) {
                return false;
            }
            extents.add(extent);
            pages += extent.pages();
            return true;
        }
    }

    /**
     * Memory of at least {@code count} pages for {@code hole}; or null, and then what was found is spare. What is needed a
     * little at a time, as by arrays that wait for the collector, is obtained ahead, so that few requests go to the device.
     */
    private @Nullable List<Extent> gather(Block hole, int count, long livePeak) {
        Haul haul = new Haul(Math.toIntExact(Math.min(Integer.MAX_VALUE, hole.bytes / pageBytes)));
        int ahead = Math.toIntExact(Math.min((long) (AHEAD * livePeak) / pageBytes, haul.room - count));
        ahead = count <= ahead ? ahead : 0;
        takeSpare(haul, count + ahead);
        create(haul, count + ahead, Math.min(limitBytes, (long) (slack() * livePeak)));
        steal(haul, count, hole);
        create(haul, count, limitBytes);
        if (haul.pages >= count) {
            return haul.extents;
        }
        spare.addAll(haul.extents);
        return null;
    }

    private double slack() {
        return 1 + Math.min(MOST_SLACK, FIRST_SLACK + MORE_SLACK * movedPages / Math.max(1, pages));
    }

    private void takeSpare(Haul haul, int wanted) {
        for (int i = spare.size() - 1; i >= 0 && haul.pages < wanted; i--) {
            if (haul.add(spare.get(i))) {
                spare.remove(i);
            }
        }
    }

    private void create(Haul haul, int wanted, long boundBytes) {
        boolean large = wanted - haul.pages >= LARGE_GROWTH;
        while (haul.pages < wanted) {
            int size = large && wanted - haul.pages >= LARGE ? LARGE : 1;
            Extent extent = created(size, boundBytes);
            if (extent == null && size > 1) {
                large = false; // one by one there may be some left
            } else if (extent == null) {
                return;
            } else {
                haul.add(extent);
            }
        }
    }

    private @Nullable Extent created(int size, long boundBytes) {
        Extent extent = boundBytes - reservedBytes() < size * pageBytes ? null : source.createExtent(size);
        pages += extent == null ? 0 : size;
        return extent;
    }

    /** Neighbours of the hole are spared: they are to be part of the block. */
    private void steal(Haul haul, int wanted, Block hole) {
        if (haul.pages >= wanted) {
            return;
        }
        for (Block block : ready.blocks(block -> wholePages(block) > 0)) {
            if (haul.pages >= wanted) {
                return;
            }
            if (block != hole.before && block != hole.after) {
                List<Extent> taken = vacate(block, first(whole(block), wanted - haul.pages, true));
                movedPages += Extent.pages(taken);
                taken.stream().filter(extent -> !haul.add(extent)).forEach(spare::add);
            }
        }
    }

    private void destroy(Extent extent) {
        source.destroyExtent(extent);
        pages -= extent.pages();
    }

    /** Extents that lie in {@code block} as a whole. */
    private List<Extent> whole(Block block) {
        Region region = region(block.address);
        long start = region.firstStart(block.address, block.end());
        return start < block.end() ? region.between(start, block.end()) : List.of();
    }

    private long wholePages(Block block) {
        return Extent.pages(whole(block));
    }

    /** The first of them, until there are {@code count} pages: with the one that makes it more, or without it. */
    private static List<Extent> first(List<Extent> extents, int count, boolean more) {
        int found = 0;
        int taken = 0;
        while (taken < extents.size()
                && found < count
                && (more || found + extents.get(taken).pages() <= count)) {
            found += extents.get(taken++).pages();
        }
        return extents.subList(0, taken);
    }

    /** Makes the part of a ready block that {@code gone}, the first of its whole extents, lie behind a hole; returns them. */
    private List<Extent> vacate(Block block, List<Extent> gone) {
        if (gone.isEmpty()) {
            return gone;
        }
        Region region = region(block.address);
        long start = region.firstStart(block.address, block.end());
        long size = Extent.pages(gone) * pageBytes;
        source.unmap(start, gone);
        region.remove(start, gone);
        ready.remove(block);
        Block middle = block;
        if (start > block.address) {
            middle = block.split(start - block.address);
            ready.add(block);
        }
        if (middle.bytes > size) {
            ready.add(middle.split(size));
        }
        becomeHole(middle);
        return gone;
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

    private void fill(Block hole, List<Extent> memory) {
        long size = Extent.pages(memory) * pageBytes;
        if (size > 0) {
            map(hole.address, memory);
            region(hole.address).put(hole.address, memory);
        }
        holes.remove(hole);
        if (hole.bytes > size) {
            holes.add(hole.split(size));
        }
        hole.hole = false;
        ready.merge(hole);
    }

    private void map(long address, List<Extent> memory) {
        try {
            source.map(address, memory);
        } catch (MemorySourceException e) {
            spare.addAll(memory);
            throw e;
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
