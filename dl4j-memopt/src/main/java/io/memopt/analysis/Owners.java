// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import java.util.Arrays;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Owners by number, looked up once. Threading: confined. */
final class Owners {
    private final IntFunction<Owner> source;
    private @Nullable Owner[] known = new Owner[256];

    Owners(IntFunction<Owner> source) {
        this.source = source;
    }

    /** The owner; asked for again while its definition is unknown. */
    Owner get(int id) {
        if (id < 0 || id >= OwnerTable.DEFAULT_CAPACITY) {
            return source.apply(id);
        }
        if (id >= known.length) {
            known = Arrays.copyOf(known, Integer.highestOneBit(id) * 2);
        }
        Owner owner = known[id];
        if (owner == null) {
            owner = source.apply(id);
            if (!owner.equals(Owner.UNKNOWN)) {
                known[id] = owner;
            }
        }
        return owner;
    }
}
