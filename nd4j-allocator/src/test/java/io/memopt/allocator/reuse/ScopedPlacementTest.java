// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ScopedPlacementTest {
    private final ScopedPlacement placement = new ScopedPlacement();
    private final Object a = new Object();
    private final Object b = new Object();
    private final Object c = new Object();

    @Test
    void closedScope_givesItsBytesToTheNext() {
        assertThat(placement.place(a, 96)).isZero();
        assertThat(placement.place(b, 64)).isEqualTo(96);
        placement.scopeClosed(a);
        assertThat(placement.place(c, 64)).isZero();
        assertThat(placement.place(c, 64)).isEqualTo(160);
        assertThat(placement.neededBytes()).isEqualTo(224);
    }

    @Test
    void smallestGapThatHoldsIt_isTaken() {
        placement.place(a, 128);
        placement.place(b, 32);
        placement.place(c, 64);
        placement.place(b, 32);
        placement.scopeClosed(a);
        placement.scopeClosed(c);
        assertThat(placement.place(a, 64)).isEqualTo(160);
    }

    @Test
    void neighbouringGaps_becomeOne() {
        placement.place(a, 32);
        placement.place(b, 32);
        placement.place(a, 32);
        placement.place(c, 32);
        placement.scopeClosed(b);
        placement.scopeClosed(a);
        assertThat(placement.place(b, 96)).isZero();
    }

    @Test
    void lastScope_closed_leavesNothingBehind() {
        placement.place(a, 32);
        placement.place(b, 320);
        placement.scopeClosed(b);
        placement.place(b, 64);
        assertThat(placement.neededBytes()).isEqualTo(352);
        placement.clear();
        assertThat(placement.neededBytes()).isZero();
        assertThat(placement.place(a, 32)).isZero();
    }

    @Test
    void emptyArray_takesNothing() {
        placement.place(a, 0);
        placement.scopeClosed(a);
        placement.scopeClosed(a);
        assertThat(placement.neededBytes()).isZero();
    }

    /** Scopes open and close as a stack, as Deeplearning4j's mostly do. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void randomScopes_neverOverlap_andRepeatTheirOffsets(long seed) {
        List<Long> first = play(seed);
        long needed = placement.neededBytes();
        placement.clear();
        assertThat(play(seed)).isEqualTo(first);
        assertThat(placement.neededBytes()).isEqualTo(needed);
    }

    private List<Long> play(long seed) {
        Random random = new Random(seed);
        Deque<Object> open = new ArrayDeque<>();
        Map<Object, List<long[]>> live = new HashMap<>();
        List<Long> offsets = new ArrayList<>();
        long most = 0;
        for (int i = 0; i < 3000; i++) {
            if (open.isEmpty() || (random.nextInt(12) == 0 && open.size() < 6)) {
                open.push(new Object());
            } else if (random.nextInt(12) == 0) {
                Object closed = open.pop();
                live.remove(closed);
                placement.scopeClosed(closed);
            } else {
                long bytes = 32L * (1 + random.nextInt(100));
                Object scope = open.peek();
                long offset = placement.place(scope, bytes);
                live.values()
                        .forEach(arrays -> arrays.forEach(
                                other -> assertThat(offset >= other[0] + other[1] || offset + bytes <= other[0])
                                        .isTrue()));
                live.computeIfAbsent(scope, s -> new ArrayList<>()).add(new long[] {offset, bytes});
                offsets.add(offset);
                most = Math.max(most, offset + bytes);
            }
        }
        assertThat(placement.neededBytes()).isEqualTo(most);
        open.forEach(placement::scopeClosed);
        return offsets;
    }
}
