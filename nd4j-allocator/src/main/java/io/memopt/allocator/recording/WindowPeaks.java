// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Largest bytes in one window of time, taken all at once. Peaks of different subjects need not have happened at the same
 * moment: their sum is an upper bound, not a peak.
 *
 * <p>Threading: written under the lock of {@link PeakWindows}, and never again once handed out.
 */
public final class WindowPeaks {
    private static final int SPACES = MemorySpace.values().length;

    private final long[] inUse = new long[SPACES];
    private final long[] reserved = new long[SPACES];
    private final Map<Integer, Long> workspaces = new HashMap<>();
    private long[] owners = new long[0];

    WindowPeaks() {}

    /** Most bytes of arrays in {@code space}. */
    public long inUseBytes(MemorySpace space) {
        return inUse[space.ordinal()];
    }

    /** Most bytes held from the operating system or driver in {@code space}. */
    public long reservedBytes(MemorySpace space) {
        return reserved[space.ordinal()];
    }

    /**
     * Most bytes of one owner in {@code space}.
     *
     * @param owner number in the {@link OwnerTable}
     */
    public long ownerBytes(int owner, MemorySpace space) {
        int index = owner * SPACES + space.ordinal();
        return index < owners.length ? owners[index] : 0;
    }

    /** Most bytes that arrays filled in the block of {@code account}. */
    public long filledBytes(WorkspaceAccount account) {
        return workspaces.getOrDefault(account.id(), 0L);
    }

    void inUse(int space, long bytes) {
        inUse[space] = Math.max(inUse[space], bytes);
    }

    void reserved(int space, long bytes) {
        reserved[space] = Math.max(reserved[space], bytes);
    }

    void owner(int index, long bytes) {
        if (index >= owners.length) {
            owners = Arrays.copyOf(owners, Math.max(index + 1, owners.length * 2));
        }
        owners[index] = Math.max(owners[index], bytes);
    }

    void workspace(int account, long bytes) {
        workspaces.merge(account, bytes, Math::max);
    }

    void retainWorkspaces(Set<Integer> existing) {
        workspaces.keySet().retainAll(existing);
    }
}
