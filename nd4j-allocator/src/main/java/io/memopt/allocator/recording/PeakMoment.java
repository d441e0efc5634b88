// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Owner;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * When a total was at its largest, and what it was made of.
 *
 * @param bytes the largest total
 * @param timeNanos {@link System#nanoTime()} of that moment
 * @param owner for whom the thread worked whose allocation made the peak
 * @param iteration training iteration of that thread, -1 if none
 * @param inUse bytes in use by category at that moment; exact with one allocating thread, else within what the other
 *     threads allocated during the few nanoseconds of the copy
 */
public record PeakMoment(long bytes, long timeNanos, Owner owner, long iteration, Map<Category, Long> inUse) {

    static final PeakMoment NONE = new PeakMoment(0, 0, Owner.UNKNOWN, -1, Map.of());

    public PeakMoment {
        Map<Category, Long> copy = new EnumMap<>(Category.class);
        copy.putAll(inUse);
        inUse = Collections.unmodifiableMap(copy);
    }
}
