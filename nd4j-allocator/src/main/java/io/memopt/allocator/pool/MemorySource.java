// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where a {@link MemoryPool} gets its memory. Two kinds:
 *
 * <ul>
 *   <li>sources that map pages: addresses come from {@link #reserve} without memory behind them, memory from
 *       {@link #createExtent}, and {@link #map} brings both together, so that memory can serve another address later;
 *   <li>sources that do not: {@link #reserve} gives addresses with memory behind them, as {@code malloc} does, and
 *       {@link #release} gives both back.
 * </ul>
 *
 * <p>Threading: called by one thread at a time, any thread.
 */
public interface MemorySource {
    /** What {@link #reserve} returns when there is no more. */
    long NONE = 0;

    /** Short name for figures and messages, e.g. {@code cuda-vmm}. */
    String name();

    /** True if addresses and memory are obtained apart; the methods of pages are for such sources alone. */
    default boolean mapsPages() {
        return false;
    }

    /** Bytes of a page, a power of two; sizes of reservations are multiples of it. */
    long pageBytes();

    /** Memory that the device has in all, in bytes. */
    long deviceBytes();

    /**
     * Addresses, aligned to {@link #pageBytes()} if the source maps pages and else to 256 bytes.
     *
     * @param bytes a multiple of {@link #pageBytes()}
     * @return the first address, or {@link #NONE} when there is no room
     * @throws MemorySourceException if the device fails otherwise
     */
    long reserve(long bytes);

    /** Gives back what {@link #reserve} returned; nothing may be mapped there any more. */
    void release(long address, long bytes);

    /**
     * Memory of some pages in one piece.
     *
     * @return null when the device has no such memory
     * @throws MemorySourceException if the device fails otherwise
     */
    default @Nullable Extent createExtent(int pages) {
        throw new UnsupportedOperationException(name() + " has no pages");
    }

    /** Gives memory back that is not mapped. */
    default void destroyExtent(Extent extent) {
        throw new UnsupportedOperationException(name() + " has no pages");
    }

    /** Puts memory at {@code address}, one piece after the other, for reading and writing. Either all or none is mapped. */
    default void map(long address, List<Extent> extents) {
        throw new UnsupportedOperationException(name() + " has no pages");
    }

    /** Takes away from {@code address} what was mapped there in this order; the device must be through with it. */
    default void unmap(long address, List<Extent> extents) {
        throw new UnsupportedOperationException(name() + " has no pages");
    }

    /** Calls of the driver so far. */
    SourceCalls calls();
}
