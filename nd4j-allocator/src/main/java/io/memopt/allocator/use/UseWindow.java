// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.use;

import io.memopt.allocator.event.AllocationKind;
import java.util.ArrayList;
import java.util.List;

/**
 * What one thread places in workspaces from {@link UseBook#openWindow()} to {@link #close()}, e.g. one training iteration:
 * the input of a planner. Ring buffers of prefetching iterators are not part of it.
 *
 * <p>Memory: one reference for each array, at most {@value #MAX_ARRAYS}. Threading: confined to the thread that opened it.
 */
public final class UseWindow {
    /** A hundred times what an iteration of zoo ResNet50 has. */
    static final int MAX_ARRAYS = 1 << 18;

    private final UseClock clock;
    private final long first;
    private final List<ArrayUse> arrays = new ArrayList<>();
    private boolean overflow;

    UseWindow(UseClock clock) {
        this.clock = clock;
        this.first = clock.births();
        clock.window(this);
    }

    /** {@link ArrayLifetime#sequence()} of the next array. */
    public int next() {
        return (int) (clock.births() - first);
    }

    void add(ArrayUse array) {
        if (arrays.size() < MAX_ARRAYS) {
            arrays.add(array);
        } else {
            overflow = true;
        }
    }

    /**
     * Ends the window. Uses that come later are not in the result: close it when the scopes of the iteration are left.
     *
     * @return in order of birth
     * @throws IllegalStateException if more than {@value #MAX_ARRAYS} arrays were born; the window is closed all the same
     */
    public List<ArrayLifetime> close() {
        if (clock.window() == this) {
            clock.window(null);
        }
        if (overflow) {
            throw new IllegalStateException("the window met more than " + MAX_ARRAYS
                    + " arrays. Open it at the start of an iteration and close it at the end of the same.");
        }
        List<ArrayLifetime> lifetimes = new ArrayList<>(arrays.size());
        for (ArrayUse array : arrays) {
            lifetimes.add(lifetime(array));
        }
        return lifetimes;
    }

    private ArrayLifetime lifetime(ArrayUse array) {
        int count = arrays.size();
        int sequence = (int) (array.birth() - first);
        int lastUse = (int) Math.min(count - 1, array.lastUse() - first);
        int end = array.ended() ? (int) Math.min(count, array.end() - first) : count;
        return new ArrayLifetime(
                sequence,
                array.account() == null ? "" : array.account().name(),
                array.account() == null ? 0 : array.account().id(),
                array.requestedBytes(),
                array.roundedBytes(),
                array.owner(),
                lastUse,
                Math.max(lastUse, end),
                array.used(),
                array.kind() != AllocationKind.WORKSPACE_ARRAY);
    }
}
