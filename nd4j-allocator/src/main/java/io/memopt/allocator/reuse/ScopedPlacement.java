// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Places arrays in one arena as they are asked for; each keeps its bytes until its scope ends. Needs no plan, and proves none:
 * lifetimes are those that ND4J itself promises. Each array takes the smallest gap that holds it.
 *
 * <pre>
 *   open A, 3 bytes   AAA
 *   open B, 2 bytes   AAABB
 *   close A           ---BB
 *   open C, 2 bytes   CC-BB     needed: 5, where a block for each of A, B and C takes 7
 * </pre>
 *
 * <p>The arena has no end here: what lies beyond the real one is memory of its own. So {@link #neededBytes()} is the size at
 * which nothing would lie outside, whatever the size was. Each array costs O(gaps), of which there are about as many as open
 * scopes. Threading: confined to one thread.
 */
public final class ScopedPlacement {
    private final IdentityHashMap<Object, List<Extent>> scopes = new IdentityHashMap<>();
    /** Lengths by offset; the endless rest is none of them. */
    private final TreeMap<Long, Long> gaps = new TreeMap<>();

    private long end;
    private long needed;

    private record Extent(long offset, long bytes) {}

    /**
     * Bytes from the start of the arena at which the array lies.
     *
     * @param scope its workspace, told apart by identity
     * @param roundedBytes at least 0
     */
    public long place(Object scope, long roundedBytes) {
        long offset = take(roundedBytes);
        scopes.computeIfAbsent(scope, fresh -> new ArrayList<>()).add(new Extent(offset, roundedBytes));
        return offset;
    }

    /** The arrays of {@code scope} give up their bytes. */
    public void scopeClosed(Object scope) {
        List<Extent> extents = scopes.remove(scope);
        if (extents != null) {
            extents.forEach(this::give);
        }
    }

    /** Begins anew with an empty arena. */
    public void clear() {
        scopes.clear();
        gaps.clear();
        end = 0;
        needed = 0;
    }

    /** Bytes that an arena must have for all that was placed since the beginning. */
    public long neededBytes() {
        return needed;
    }

    private long take(long bytes) {
        Map.Entry<Long, Long> best = null;
        for (Map.Entry<Long, Long> gap : gaps.entrySet()) {
            if (gap.getValue() >= bytes && (best == null || gap.getValue() < best.getValue())) {
                best = gap;
            }
        }
        if (best == null) {
            return append(bytes);
        }
        long offset = best.getKey();
        long rest = best.getValue() - bytes;
        gaps.remove(offset);
        if (rest > 0) {
            gaps.put(offset + bytes, rest);
        }
        return offset;
    }

    /** Behind everything; no gap touches the end. */
    private long append(long bytes) {
        long offset = end;
        end = Math.addExact(offset, bytes);
        needed = Math.max(needed, end);
        return offset;
    }

    private void give(Extent extent) {
        if (extent.bytes == 0) {
            return;
        }
        long from = extent.offset;
        long to = from + extent.bytes;
        Map.Entry<Long, Long> before = gaps.lowerEntry(from);
        if (before != null && before.getKey() + before.getValue() == from) {
            from = before.getKey();
            gaps.remove(from);
        }
        Long after = gaps.remove(to);
        to += after == null ? 0 : after;
        if (to == end) {
            end = from;
        } else {
            gaps.put(from, to - from);
        }
    }
}
