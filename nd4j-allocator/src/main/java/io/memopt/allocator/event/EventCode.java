// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

import org.jspecify.annotations.Nullable;

/**
 * The small facts of an event packed into one {@code int}: bits 0-7 {@link EventKind}, 8-11 {@link AllocationKind} or
 * {@link TransferDirection}, 12-15 {@link MemorySpace} (of a transfer: 1 + the space of its host end, 0 when not
 * told). Lets hooks hand events on without creating objects.
 */
public final class EventCode {
    private static final EventKind[] KINDS = EventKind.values();
    private static final AllocationKind[] ALLOCATIONS = AllocationKind.values();
    private static final TransferDirection[] DIRECTIONS = TransferDirection.values();
    private static final MemorySpace[] SPACES = MemorySpace.values();

    private EventCode() {}

    public static int of(EventKind kind) {
        return kind.ordinal();
    }

    /** For {@link EventKind#ALLOCATE}, {@link EventKind#FREE}, {@link EventKind#RECLASSIFY}, {@link EventKind#LAST_USE}, {@link EventKind#ORIGIN}. */
    public static int of(EventKind kind, AllocationKind allocation, MemorySpace space) {
        return kind.ordinal() | allocation.ordinal() << 8 | space.ordinal() << 12;
    }

    /** A copy of which nobody told whether its host end is page-locked. */
    public static int transfer(TransferDirection direction) {
        return EventKind.TRANSFER.ordinal() | direction.ordinal() << 8;
    }

    /**
     * A copy of which it is known where its end in host memory lies.
     *
     * @param hostEnd for a copy inside host memory, where the end lies that is written
     */
    public static int transfer(TransferDirection direction, MemorySpace hostEnd) {
        return transfer(direction) | (hostEnd.ordinal() + 1) << 12;
    }

    public static EventKind kind(int code) {
        return KINDS[code & 0xff];
    }

    public static AllocationKind allocation(int code) {
        return ALLOCATIONS[code >> 8 & 0xf];
    }

    public static TransferDirection direction(int code) {
        return DIRECTIONS[code >> 8 & 0xf];
    }

    public static MemorySpace space(int code) {
        return SPACES[code >> 12 & 0xf];
    }

    /** Where the end of a transfer in host memory lies; null when not told, or when it has none. */
    public static @Nullable MemorySpace hostEnd(int code) {
        int told = code >> 12 & 0xf;
        return told == 0 ? null : SPACES[told - 1];
    }

    /** True when every field of {@code code} names an existing constant; decoders check before they trust a file. */
    public static boolean isValid(int code) {
        boolean transfer = (code & 0xff) == EventKind.TRANSFER.ordinal();
        int second = transfer ? DIRECTIONS.length : ALLOCATIONS.length;
        int third = transfer ? SPACES.length + 1 : SPACES.length;
        return (code & 0xff) < KINDS.length
                && (code >> 8 & 0xf) < second
                && (code >> 12 & 0xf) < third
                && code >>> 16 == 0;
    }
}
