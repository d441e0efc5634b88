// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import io.memopt.allocator.plan.SectionSearch.Outcome;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Buffers that meet no others: planned by themselves, and better with every round. Threading: confined.
 */
final class Part {
    /** Up to here, methods that compare each buffer with each other take milliseconds. */
    private static final int QUADRATIC = 4096;

    /** Heights to ask for, as shares of the gap above the lower bound. */
    private static final double[] SHARES = {0, 0.0625, 0.125, 0.25, 0.5, 0.75};

    private final Timeline time;
    private final Deadline deadline;
    private final boolean simple;
    private long lower;
    private long height = Long.MAX_VALUE;
    private long[] offsets = new long[0];
    private PlanMethod method = PlanMethod.FIRST_FIT;
    private int @Nullable [] byLoad;
    private @Nullable SectionModel model;
    private @Nullable SectionModel chained;
    private @Nullable CapacitySearch atGoal;
    private long nodes;
    private int effort = 1;

    Part(PlanProblem problem, Deadline deadline) {
        this.deadline = deadline;
        time = new Timeline(problem);
        lower = LowerBound.of(time);
        boolean free = problem.gapCount() == 0;
        for (int i = 0; i < problem.count() && free; i++) {
            free = problem.fixedOffset(i) == PlanProblem.FREE;
        }
        simple = free;
    }

    long height() {
        return height;
    }

    long lower() {
        return lower;
    }

    long[] offsets() {
        return offsets;
    }

    PlanMethod method() {
        return method;
    }

    long nodes() {
        return nodes + (atGoal == null ? 0 : atGoal.nodes());
    }

    /**
     * Greedy methods, until one reaches {@code goal} bytes or time has passed; the first always runs.
     *
     * @throws IllegalArgumentException if fixed buffers overlap
     */
    void greedy(long goal) {
        if (!simple) {
            take(PlanMethod.FIRST_FIT, GeneralFit.plan(time, Orders.bySize(time)));
            tryTo(goal, PlanMethod.FIRST_FIT, () -> GeneralFit.plan(time, Orders.byArea(time)));
            tryTo(goal, PlanMethod.FIRST_FIT, () -> GeneralFit.plan(time, Orders.byLoad(time)));
            return;
        }
        take(PlanMethod.BEST_FIT_IN_TIME, BestFitInTime.plan(time, true));
        tryTo(goal, PlanMethod.BEST_FIT_IN_TIME, () -> BestFitInTime.plan(time, false));
        if (time.problem.count() > QUADRATIC) {
            tryTo(goal, PlanMethod.FIRST_FIT, () -> GeneralFit.plan(time, Orders.bySize(time), deadline));
            tryTo(goal, PlanMethod.FIRST_FIT, () -> GeneralFit.plan(time, byLoad(), deadline));
            tryTo(goal, PlanMethod.CORE_SEARCH, () -> core(Math.max(goal, lower)));
            return;
        }
        boolean many = time.problem.count() >= StackSearch.LEAST_BUFFERS;
        if (many) {
            tryTo(goal, PlanMethod.BOTTOM_UP, () -> BottomUp.plan(time, byLoad()));
            tryTo(goal, PlanMethod.CORE_SEARCH, () -> core(Math.max(goal, lower)));
            tryTo(goal, PlanMethod.STACK_SEARCH, () -> StackSearch.plan(time, height, Math.max(goal, lower), deadline));
        }
        tryTo(goal, PlanMethod.FIRST_FIT, () -> FirstFit.plan(time, Orders.bySize(time)));
        if (!many) {
            tryTo(goal, PlanMethod.BOTTOM_UP, () -> BottomUp.plan(time, byLoad()));
        }
        tryTo(goal, PlanMethod.FIRST_FIT, () -> FirstFit.plan(time, Orders.byArea(time)));
        tryTo(goal, PlanMethod.FIRST_FIT, () -> FirstFit.plan(time, Orders.byLifetime(time)));
        tryTo(goal, PlanMethod.BOTTOM_UP, () -> BottomUp.plan(time, Orders.byArea(time)));
        tryTo(goal, PlanMethod.BOTTOM_UP, () -> BottomUp.plan(time, Orders.byLoadAndSize(time)));
    }

    private int[] byLoad() {
        if (byLoad == null) {
            byLoad = Orders.byLoad(time);
        }
        return byLoad;
    }

    private long @Nullable [] core(long goal) {
        CoreSearch search = new CoreSearch(time, byLoad(), deadline);
        long[] plan = search.plan(height, goal);
        nodes += search.nodes();
        return plan;
    }

    private void tryTo(long goal, PlanMethod by, Supplier<long @Nullable []> plan) {
        if (height > Math.max(goal, lower) && !deadline.passed()) {
            long[] found = plan.get();
            if (found != null) {
                take(by, found);
            }
        }
    }

    private void take(PlanMethod by, long[] plan) {
        long top = top(time, plan);
        if (top < height) {
            height = top;
            offsets = plan;
            method = by;
        }
    }

    /** Height of a plan in bytes. */
    static long top(Timeline time, long[] plan) {
        long top = 0;
        for (int i = 0; i < plan.length; i++) {
            top = Math.max(top, plan[i] + time.problem.size(i));
        }
        return top;
    }

    /** Whether the search can deal with this part. */
    boolean searchable() {
        return model != null || SectionModel.fits(time, height);
    }

    /**
     * One round of the search: asks for {@code goal} or the lower bound, whichever is higher, and then for heights between
     * that and the plan at hand, from below; begins anew after each success, and doubles its effort when none is left.
     *
     * @param onlyGoal whether nothing above the goal is of use
     */
    void search(long goal, boolean onlyGoal) {
        long target = Math.max(goal, lower);
        if (model == null) {
            model = SectionModel.of(time);
            chained = model.chained();
            if (chained.count == model.count) {
                chained = model;
            }
        }
        for (int k = 0; k < SHARES.length && height > target && !deadline.passed(); k++) {
            long wanted = target + (long) (SHARES[k] * (height - target));
            if (wanted >= height || (k > 0 && onlyGoal)) {
                break;
            }
            long before = height;
            ask(wanted, k == 0);
            target = Math.max(goal, lower);
            if (height < before) {
                k = -1;
            }
        }
        effort *= 2;
    }

    private void ask(long wanted, boolean isGoal) {
        SectionModel whole = Objects.requireNonNull(model);
        int capacity = (int) ((isGoal ? wanted : Math.min(wanted, height - 1)) / whole.unit);
        CapacitySearch search = isGoal ? atGoal(capacity) : fresh(capacity);
        for (int k = 0; k < effort && !deadline.passed(); k++) {
            Outcome outcome = search.next();
            if (outcome == Outcome.FOUND) {
                take(PlanMethod.EXACT_SEARCH, search.offsets(time.problem.count()));
                break;
            }
            if (outcome == Outcome.REFUTED) {
                lower = Math.max(lower, (capacity + 1) * whole.unit);
                break;
            }
        }
        if (search != atGoal) {
            nodes += search.nodes();
        }
    }

    private CapacitySearch atGoal(int capacity) {
        if (atGoal == null || atGoal.capacity() != capacity) {
            nodes += atGoal == null ? 0 : atGoal.nodes();
            atGoal = fresh(capacity);
        }
        return atGoal;
    }

    private CapacitySearch fresh(int capacity) {
        return new CapacitySearch(Objects.requireNonNull(model), Objects.requireNonNull(chained), capacity, deadline);
    }
}
