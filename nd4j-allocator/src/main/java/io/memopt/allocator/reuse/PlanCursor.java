// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

/**
 * Serves a plan once, array by array, as long as they are asked for as recorded. After the first that is not, none is served:
 * what follows cannot be trusted to be what the plan takes it for.
 *
 * <p>Threading: confined to one thread.
 */
public final class PlanCursor {
    /** The array is not in the plan. */
    public static final long MISS = -1;

    private final ArenaPlan plan;
    private int next;
    private int ended;
    private boolean missed;

    /** Begins at the first array of {@code plan}. */
    public PlanCursor(ArenaPlan plan) {
        this.plan = plan;
    }

    /** Bytes from the start of the arena at which the array lies, or {@link #MISS}. */
    public long place(String workspace, long roundedBytes) {
        if (missed || !plan.matches(next, workspace, roundedBytes)) {
            missed = true;
            return MISS;
        }
        return plan.offset(next++);
    }

    /**
     * Number of the next array, among those served, whose bytes the array served last may take; -1 when there is no other.
     * Each is told once.
     */
    public int nextEnded() {
        if (next > 0 && ended < next && plan.endsBefore(plan.ending(ended), next - 1)) {
            return plan.ending(ended++);
        }
        return -1;
    }

    /** When no more is served: the number of the next array that still has its bytes, -1 when there is no other. */
    public int nextLeft() {
        while (ended < plan.size()) {
            int array = plan.ending(ended++);
            if (array < next) {
                return array;
            }
        }
        return -1;
    }

    /** Bytes from the start of the arena at which {@code array}, one of those served, lies. */
    public long offset(int array) {
        return plan.offset(array);
    }

    /** Whether {@code array} must have ended with its scope before its bytes are taken. */
    public boolean endsWithScope(int array) {
        return plan.endsWithScope(array);
    }

    /**
     * Bytes from the start of an arena of {@code arenaBytes} at which {@code wanted} bytes lie that no array has until the next is
     * asked for; {@link #MISS} when there are none. Asked for twice they are the same.
     */
    public long spare(long wanted, long arenaBytes) {
        return missed ? MISS : plan.spare(next).find(wanted, arenaBytes);
    }

    /** The region turned out not to be the one that was planned: no more is served. */
    public void fail() {
        missed = true;
    }

    /** Bytes of the arena that the plan needs. */
    public long arenaBytes() {
        return plan.height();
    }

    /** Arrays served so far. */
    public int served() {
        return next;
    }

    /** True once another array was asked for than the plan has, or {@link #fail} was called. */
    public boolean missed() {
        return missed;
    }

    /** True when every array of the plan was served and no other was asked for. */
    public boolean complete() {
        return !missed && next == plan.size();
    }
}
