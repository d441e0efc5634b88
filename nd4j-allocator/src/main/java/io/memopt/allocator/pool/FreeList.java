// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Free blocks by size. Below 32 KiB each multiple of {@link #UNIT} bytes has a bin of its own; above, each power of two is
 * divided into 32 bins. {@link #bestFit} finds the smallest block that is large enough: it looks through the bin of the
 * size and then through the next bin that is not empty, which costs as much as blocks of nearly the same size are free.
 *
 * <p>Two levels of size classes with a bitmap: M. Masmano, I. Ripoll, A. Crespo, J. Real, <em>TLSF: a new dynamic memory
 * allocator for real-time systems</em>, ECRTS 2004, doi:10.1109/EMRTS.2004.1311009.
 */
final class FreeList {
    /** Sizes are multiples of it; what cudaMalloc aligns to, at least. */
    static final long UNIT = 512;

    private static final int DIVISIONS_LOG = 5;
    private static final int DIVISIONS = 1 << DIVISIONS_LOG;
    private static final int BINS = DIVISIONS * 50;

    private final @Nullable Block[] bins = new Block[BINS];
    private final BitSet filled = new BitSet(BINS);
    private final boolean byTicket;
    private long bytes;

    /** Of blocks that become one with their free neighbours. */
    FreeList() {
        this(false);
    }

    /** {@code byTicket}: only blocks of the same ticket become one, so that none waits for another that was freed later. */
    FreeList(boolean byTicket) {
        this.byTicket = byTicket;
    }

    /** All free bytes here. */
    long bytes() {
        return bytes;
    }

    boolean isEmpty() {
        return bytes == 0;
    }

    void add(Block block) {
        int bin = bin(block.bytes);
        Block first = bins[bin];
        block.home = this;
        block.previousInBin = null;
        block.nextInBin = first;
        if (first != null) {
            first.previousInBin = block;
        }
        bins[bin] = block;
        filled.set(bin);
        bytes += block.bytes;
    }

    void remove(Block block) {
        int bin = bin(block.bytes);
        Block previous = block.previousInBin;
        Block next = block.nextInBin;
        if (previous == null) {
            bins[bin] = next;
            if (next == null) {
                filled.clear(bin);
            }
        } else {
            previous.nextInBin = next;
        }
        if (next != null) {
            next.previousInBin = previous;
        }
        block.previousInBin = null;
        block.nextInBin = null;
        block.home = null;
        bytes -= block.bytes;
    }

    /** Blocks that {@code wanted} accepts, smallest bins first; they stay listed. */
    List<Block> blocks(Predicate<Block> wanted) {
        List<Block> found = new ArrayList<>();
        for (int bin = filled.nextSetBit(0); bin >= 0; bin = filled.nextSetBit(bin + 1)) {
            for (Block block = bins[bin]; block != null; block = block.nextInBin) {
                if (wanted.test(block)) {
                    found.add(block);
                }
            }
        }
        return found;
    }

    /** Lists {@code block}, as one with its neighbours where these are listed here too; returns the whole. */
    Block merge(Block block) {
        Block whole = block;
        Block before = block.before;
        if (before != null && joins(before, block)) {
            remove(before);
            before.absorbNext();
            whole = before;
        }
        Block after = whole.after;
        if (after != null && joins(after, whole)) {
            remove(after);
            whole.absorbNext();
        }
        add(whole);
        return whole;
    }

    private boolean joins(Block neighbour, Block block) {
        return neighbour.home == this && (!byTicket || neighbour.ticket == block.ticket);
    }

    /** Takes the first {@code size} bytes of a block that is listed here; what is left of it stays. */
    Block take(Block block, long size) {
        remove(block);
        if (block.bytes > size) {
            add(block.split(size));
        }
        return block;
    }

    /** The smallest block of at least {@code size} bytes; null when there is none. It stays listed. */
    @Nullable
    Block bestFit(long size) {
        int bin = bin(size);
        Block found = smallest(bin, size);
        if (found == null) {
            int next = filled.nextSetBit(bin + 1);
            found = next < 0 ? null : smallest(next, size);
        }
        return found;
    }

    /** Size of the largest block, 0 when there is none; by a look at the last bin. */
    long largest() {
        long largest = 0;
        int last = filled.length() - 1;
        for (Block block = last < 0 ? null : bins[last]; block != null; block = block.nextInBin) {
            largest = Math.max(largest, block.bytes);
        }
        return largest;
    }

    private @Nullable Block smallest(int bin, long size) {
        Block found = null;
        for (Block block = bins[bin]; block != null; block = block.nextInBin) {
            if (block.bytes == size) {
                return block;
            }
            if (block.bytes > size && (found == null || block.bytes < found.bytes)) {
                found = block;
            }
        }
        return found;
    }

    private static int bin(long size) {
        long units = size / UNIT;
        if (units < 2 * DIVISIONS) {
            return (int) units;
        }
        int level = 63 - Long.numberOfLeadingZeros(units) - DIVISIONS_LOG;
        return level * DIVISIONS + (int) (units >> level);
    }
}
