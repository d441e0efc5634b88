// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

/**
 * How large an arena should be: large enough for the regions to come, and not larger for long.
 *
 * <ul>
 *   <li>It grows to what is asked for and no further, unless it has crept: from the third growth in a row by less than twice,
 *       a quarter is added. Lengths that rise one by one so cost a logarithmic number of blocks.
 *   <li>It shrinks after so many regions in a row that needed less than three quarters of it: an outlier's bytes go back,
 *       while lengths that vary keep theirs.
 * </ul>
 *
 * <p>Threading: confined to one thread.
 */
public final class ArenaCapacity {
    private static final int FREE_CREEPS = 2;

    private final int patience;
    private int creeps;
    private int regions;
    private long mostOfPeriod;

    /**
     * An arena that shrinks after between {@code patience} and twice as many regions.
     *
     * @throws IllegalArgumentException if {@code patience} is less than 1
     */
    public ArenaCapacity(int patience) {
        if (patience < 1) {
            throw new IllegalArgumentException("patience=" + patience + ", expected at least 1");
        }
        this.patience = patience;
    }

    /**
     * The size to have before a region begins.
     *
     * @param heldBytes size now, 0 for none
     * @param neededBytes what the region and those expected after it need
     * @return {@code heldBytes} or more
     */
    public long grown(long heldBytes, long neededBytes) {
        if (neededBytes <= heldBytes) {
            return heldBytes;
        }
        creeps = heldBytes > 0 && neededBytes / 2 < heldBytes ? creeps + 1 : 0;
        return creeps > FREE_CREEPS ? Math.addExact(neededBytes, neededBytes / 4) : neededBytes;
    }

    /**
     * The size to keep after a region that needed so much.
     *
     * @param heldBytes size now
     * @return {@code heldBytes}, or less when the rest has not been needed for long
     */
    public long kept(long heldBytes, long neededBytes) {
        mostOfPeriod = Math.max(mostOfPeriod, neededBytes);
        if (++regions < patience) {
            return heldBytes;
        }
        long most = mostOfPeriod;
        mostOfPeriod = 0;
        regions = 0;
        if (most >= heldBytes / 4 * 3) {
            return heldBytes;
        }
        creeps = 0;
        return most;
    }
}
