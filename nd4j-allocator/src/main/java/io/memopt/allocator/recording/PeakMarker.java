// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.OwnerTable;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the largest moment of a total, with what was in use then. While a total rises each allocation is a new peak, so
 * what is in use is copied only when it is about to change: before the first bytes that go after a peak.
 *
 * <p>Threading: under the lock of the {@link Journals}.
 */
final class PeakMarker {
    /** A peak whose composition is still what is in use now. */
    private record Rising(long bytes, long timeNanos, int owner, long iteration) {}

    /** A peak with the composition that it had. */
    private static final class Settled {
        final Rising peak;
        final long[] inUse;

        Settled(Rising peak, long[] inUse) {
            this.peak = peak;
            this.inUse = inUse;
        }
    }

    private final Supplier<long[]> inUse;
    private @Nullable Rising rising;
    private @Nullable Settled settled;

    /**
     * No peak yet.
     *
     * @param inUse copies the bytes in use by category, in the order of the enum
     */
    PeakMarker(Supplier<long[]> inUse) {
        this.inUse = inUse;
    }

    /** The total of one space reached {@code bytes}, its largest so far; it may be small beside another space's. */
    void reached(long bytes, long timeNanos, int owner, long iteration) {
        Rising before = rising;
        Settled largest = settled;
        boolean larger =
                (before == null || bytes > before.bytes()) && (largest == null || bytes > largest.peak.bytes());
        if (larger) {
            rising = new Rising(bytes, timeNanos, owner, iteration);
        }
    }

    /** Bytes are about to go. */
    void settle() {
        if (rising != null) {
            copy();
        }
    }

    /** The largest moment so far. */
    PeakMoment largest(OwnerTable owners) {
        settle();
        Settled largest = settled;
        if (largest == null) {
            return PeakMoment.NONE;
        }
        Map<Category, Long> bytes = new EnumMap<>(Category.class);
        for (Category category : Category.values()) {
            if (largest.inUse[category.ordinal()] != 0) {
                bytes.put(category, largest.inUse[category.ordinal()]);
            }
        }
        Rising peak = largest.peak;
        return new PeakMoment(peak.bytes(), peak.timeNanos(), owners.ownerOf(peak.owner()), peak.iteration(), bytes);
    }

    private void copy() {
        Rising peak = rising;
        rising = null;
        Settled largest = settled;
        if (peak != null && (largest == null || peak.bytes() > largest.peak.bytes())) {
            settled = new Settled(peak, inUse.get());
        }
    }
}
