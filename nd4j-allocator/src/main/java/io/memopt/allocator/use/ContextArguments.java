// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.use;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The arrays that were put into the context of one custom operation: they are used when it runs, after outputs may have been
 * allocated. Threading: as the context, i.e. one thread at a time.
 */
final class ContextArguments {
    /** Inputs at even places, outputs at odd ones. */
    private @Nullable ArrayUse[] places = new @Nullable ArrayUse[8];

    private int used;

    void put(boolean output, int index, @Nullable ArrayUse array) {
        int place = 2 * index + (output ? 1 : 0);
        if (place >= places.length) {
            places = Arrays.copyOf(places, Math.max(place + 1, 2 * places.length));
        }
        places[place] = array;
        used = Math.max(used, place + 1);
    }

    int size() {
        return used;
    }

    @Nullable
    ArrayUse get(int place) {
        return places[place];
    }

    void clear() {
        Arrays.fill(places, 0, used, null);
        used = 0;
    }
}
