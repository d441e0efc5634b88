// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Running sums of arrays by group and space. Threading: confined. */
final class Groups<K> {
    private static final MemorySpace[] SPACES = MemorySpace.values();
    private static final int UNSET = -1;

    private final Owners owners;
    private final Function<Owner, K> keyOf;
    private final Map<List<Object>, Integer> numbers = new HashMap<>();
    private final List<K> keys = new ArrayList<>();
    private final List<MemorySpace> spaces = new ArrayList<>();
    private int[] ofOwner = new int[256];
    private long[] now = new long[64];
    private long[] peak = new long[64];
    private long[] count = new long[64];
    private long[] allocated = new long[64];
    private long[] rounding = new long[64];

    Groups(Owners owners, Function<Owner, K> keyOf) {
        this.owners = owners;
        this.keyOf = keyOf;
        Arrays.fill(ofOwner, UNSET);
    }

    void add(int owner, MemorySpace space, long requestedBytes, long roundedBytes) {
        int group = group(owner, space);
        now[group] += roundedBytes;
        if (now[group] > peak[group]) {
            peak[group] = now[group];
        }
        count[group]++;
        allocated[group] += roundedBytes;
        rounding[group] += roundedBytes - requestedBytes;
    }

    void remove(int owner, MemorySpace space, long roundedBytes) {
        now[group(owner, space)] -= roundedBytes;
    }

    /** The bytes were this owner's from their start on, as far as sums go that do not end. */
    void move(int from, int to, MemorySpace space, long requestedBytes, long roundedBytes) {
        int before = group(from, space);
        now[before] -= roundedBytes;
        count[before]--;
        allocated[before] -= roundedBytes;
        rounding[before] -= roundedBytes - requestedBytes;
        add(to, space, requestedBytes, roundedBytes);
    }

    int size() {
        return keys.size();
    }

    K key(int group) {
        return keys.get(group);
    }

    MemorySpace space(int group) {
        return spaces.get(group);
    }

    /** Bytes of every group now. */
    long[] snapshot() {
        return Arrays.copyOf(now, size());
    }

    /** Groups that ever had an array, largest peak first. */
    List<UsageRow<K>> rows() {
        List<UsageRow<K>> rows = new ArrayList<>();
        for (int i = 0; i < size(); i++) {
            if (count[i] > 0 || now[i] != 0) {
                rows.add(new UsageRow<>(
                        keys.get(i), spaces.get(i), now[i], peak[i], count[i], allocated[i], rounding[i]));
            }
        }
        rows.sort((a, b) -> Long.compare(b.peakBytes(), a.peakBytes()));
        return rows;
    }

    private int group(int owner, MemorySpace space) {
        int index = owner * SPACES.length + space.ordinal();
        if (index < 0) {
            return register(owner, space);
        }
        if (index >= ofOwner.length) {
            int length = ofOwner.length;
            ofOwner = Arrays.copyOf(ofOwner, Math.max(index + 1, length * 2));
            Arrays.fill(ofOwner, length, ofOwner.length, UNSET);
        }
        int group = ofOwner[index];
        if (group == UNSET) {
            group = register(owner, space);
            ofOwner[index] = group;
        }
        return group;
    }

    private int register(int owner, MemorySpace space) {
        K key = keyOf.apply(owners.get(owner));
        Integer known = numbers.putIfAbsent(List.of(key, space), keys.size());
        if (known != null) {
            return known;
        }
        keys.add(key);
        spaces.add(space);
        if (keys.size() > now.length) {
            int length = now.length * 2;
            now = Arrays.copyOf(now, length);
            peak = Arrays.copyOf(peak, length);
            count = Arrays.copyOf(count, length);
            allocated = Arrays.copyOf(allocated, length);
            rounding = Arrays.copyOf(rounding, length);
        }
        return keys.size() - 1;
    }
}
