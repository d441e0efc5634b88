// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.PlanCursor;
import org.jspecify.annotations.Nullable;

/**
 * Decides for each region of a thread whether its workspace arrays come from a plan. A region is the time from the moment at
 * which the first of a network's workspaces is opened to the moment at which all are closed again: a forward and backward
 * pass, or one pass of inference.
 *
 * <p>Called on the thread of the region. Must not throw.
 */
public interface RegionPolicy {
    /** Leaves a region without a plan to ND4J. */
    long UNSIZED = -1;

    /**
     * The first array of the region is asked for.
     *
     * @param outermost workspace that was opened first
     * @param workspace the one asked now
     * @param roundedBytes how many bytes it is asked for
     * @return the plan to serve; null leaves the region to ND4J
     */
    @Nullable
    ArenaPlan planFor(String outermost, String workspace, long roundedBytes);

    /**
     * Asked after {@link #planFor}: how many bytes the arena should have, for the region that begins and those expected. Without
     * a plan, arrays are placed there to the ends of their scopes, as long as there is room, and get memory of their own then.
     *
     * @return 0 when nothing is known; {@link #UNSIZED} to leave a region without a plan to ND4J
     */
    default long roomBytes() {
        return UNSIZED;
    }

    /**
     * A region ended whose arrays were placed without a plan. Comes before {@link #regionClosed}.
     *
     * @param neededBytes size of the arena at which none would have been left outside
     */
    default void regionSized(long neededBytes) {}

    /**
     * Asked while no workspace but the outermost is open, with an array about to be placed there: whether it is the region's.
     * One that a listener asks for in between is not; ND4J serves it, and the plan goes on after it.
     */
    default boolean belongs() {
        return true;
    }

    /**
     * Whether bytes of arrays that have ended are overwritten before another array gets them, so that whoever reads them
     * after their planned end gets no number. Asked once for each thread.
     */
    default boolean poisons() {
        return false;
    }

    /**
     * Bytes of the arena were written although no array had them: by one after its planned end. The rest of the region is
     * left to ND4J. Only when {@link #poisons}.
     */
    default void poisonBroken() {}

    /**
     * A region ended in which arrays were asked for.
     *
     * @param cursor what served it; null when ND4J did
     */
    void regionClosed(@Nullable PlanCursor cursor);

    /**
     * The arena could not be had; ND4J serves the region.
     *
     * @param bytes that were asked for
     */
    void arenaRefused(long bytes);
}
