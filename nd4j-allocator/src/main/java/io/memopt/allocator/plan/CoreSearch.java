// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import io.memopt.allocator.plan.SectionSearch.Outcome;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Plans the buffers of the busiest times, the core, by the exact search, and puts all others around them. Where one of those
 * ends too high, it comes to the core with all that live along with it, and the core is planned anew.
 *
 * <pre>
 *   bytes live   __        __           few stretches of time are near the bound; what lives only elsewhere
 *            ___/  \______/  \____      finds room around any plan of theirs
 *   core        ****      ****
 * </pre>
 *
 * <p>For problems without gaps and fixed offsets in which few buffers live at a time. The search divides the core into stretches
 * that share no buffer, so that it takes about one decision for each buffer. Our own; the idea is that of constraints that are
 * added when a solution breaks them: G. Dantzig, R. Fulkerson and S. Johnson, Solution of a Large-Scale Traveling-Salesman
 * Problem, Operations Research 2 (1954) 393-410, doi:10.1287/opre.2.4.393.
 *
 * <p>Repeatable. Threading: confined; searches in a {@link SearchThread}.
 */
final class CoreSearch {
    /** Buffers to begin with, and as many more as live at moments as busy as the last of them. */
    private static final int FIRST = 200;

    /** Where more live at the busiest moment alone, other methods are quicker. */
    private static final int MOST_FIRST = 512;

    /** Of a larger core a try takes too long. */
    private static final int MOST = 768;

    /** Tries at one height; {@link CapacitySearch} has 18 rules and orders. */
    private static final int TRIES = 24;

    /** What the second height is above the goal, as a share of it. */
    private static final int SLACK = 512;

    private final Timeline time;
    private final Deadline deadline;
    private final int count;
    private final int[] byLoad;
    private final boolean[] isCore;
    private int tries;
    private int lastTry;
    private long nodes;
    private long @Nullable [] lowest;

    /**
     * For a problem whose buffers are given in order of importance.
     *
     * @param byLoad see {@link Orders#byLoad}
     */
    CoreSearch(Timeline time, int[] byLoad, Deadline deadline) {
        this.time = time;
        this.byLoad = byLoad;
        this.deadline = deadline;
        count = time.problem.count();
        isCore = new boolean[count];
    }

    /** Decisions of the search. */
    long nodes() {
        return nodes;
    }

    /**
     * Looks for a plan lower than {@code height}.
     *
     * @param goal height that is enough; the core is planned within it, or if that does not do in a little more
     * @return the lowest found; null when none is lower than {@code height}
     */
    long @Nullable [] plan(long height, long goal) {
        if (begin()) {
            SearchThread.run(() -> improve(improve(height, goal), goal + goal / SLACK));
        }
        return lowest;
    }

    private boolean begin() {
        long[] busiest = Orders.busiest(time);
        int first = Math.min(FIRST, count);
        while (first < count && busiest[byLoad[first]] == busiest[byLoad[first - 1]]) {
            first++;
        }
        for (int k = 0; k < first; k++) {
            isCore[byLoad[k]] = true;
        }
        return first <= MOST_FIRST;
    }

    /** Returns the height of the lowest plan. */
    private long improve(long height, long goal) {
        long least = height;
        tries = 0;
        lastTry = 0;
        int[] core = core();
        while (least > goal && core.length <= MOST) {
            long[] given = planned(core, goal);
            long[] plan = given == null ? null : GeneralFit.plan(time, byLoad, given, deadline);
            if (plan == null) {
                break;
            }
            long top = Part.top(time, plan);
            if (top < least) {
                least = top;
                lowest = plan;
            }
            grow(plan, goal);
            core = core();
        }
        return least;
    }

    private int[] core() {
        int[] core = new int[count];
        int length = 0;
        for (int i = 0; i < count; i++) {
            if (isCore[i]) {
                core[length++] = i;
            }
        }
        return Arrays.copyOf(core, length);
    }

    /** Offsets of the core by buffer, the others free; null if no plan within the goal was found. */
    private long @Nullable [] planned(int[] core, long goal) {
        Timeline coreTime = new Timeline(time.problem.part(core));
        if (!SectionModel.fits(coreTime, goal)) {
            return null;
        }
        SectionModel model = SectionModel.of(coreTime);
        // What found a plan of a smaller core mostly finds one of this.
        CapacitySearch search = new CapacitySearch(model, (int) (goal / model.unit), lastTry, deadline);
        Outcome outcome = Outcome.GIVEN_UP;
        while (outcome == Outcome.GIVEN_UP && tries < TRIES && !deadline.passed()) {
            outcome = search.next();
            tries++;
        }
        lastTry = search.nextTry() - 1;
        nodes += search.nodes();
        if (outcome != Outcome.FOUND) {
            return null;
        }
        long[] offsets = search.offsets(core.length);
        long[] given = new long[count];
        Arrays.fill(given, PlanProblem.FREE);
        for (int k = 0; k < core.length; k++) {
            given[core[k]] = offsets[k];
        }
        return given;
    }

    /** Takes in what ends above the goal and all that live along with it. */
    private void grow(long[] plan, long goal) {
        int[] high = new int[time.moments + 1];
        for (int i = 0; i < count; i++) {
            if (plan[i] + time.problem.size(i) > goal) {
                high[time.birth(i)]++;
                high[time.death(i)]--;
            }
        }
        // How many moments before each one are too high.
        int[] before = new int[time.moments + 1];
        int live = 0;
        for (int moment = 0; moment < time.moments; moment++) {
            live += high[moment];
            before[moment + 1] = before[moment] + (live > 0 ? 1 : 0);
        }
        for (int i = 0; i < count; i++) {
            isCore[i] |= before[time.birth(i)] < before[time.death(i)];
        }
    }
}
