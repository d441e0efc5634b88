// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.use;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** The arrays of one scope of a workspace. Threading: its thread adds, any may end. */
final class ScopeArrays {
    private List<ArrayUse> arrays = new ArrayList<>();

    synchronized void add(ArrayUse array) {
        arrays.add(array);
    }

    /** Hands out all arrays, the newest first, and forgets them. */
    void endAll(Consumer<ArrayUse> end) {
        List<ArrayUse> ending;
        synchronized (this) {
            if (arrays.isEmpty()) {
                return;
            }
            ending = arrays;
            arrays = new ArrayList<>(ending.size());
        }
        newestFirst(ending, end);
    }

    /** Hands out all arrays, the newest first. */
    void forEach(Consumer<ArrayUse> action) {
        List<ArrayUse> copy;
        synchronized (this) {
            copy = List.copyOf(arrays);
        }
        newestFirst(copy, action);
    }

    private static void newestFirst(List<ArrayUse> arrays, Consumer<ArrayUse> action) {
        for (int i = arrays.size() - 1; i >= 0; i--) {
            action.accept(arrays.get(i));
        }
    }
}
