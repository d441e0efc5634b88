// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Puts buffers with known lifetimes into as little memory as it can.
 *
 * <p>The buffers are divided where nobody is live. Each part is planned by quick methods, greedy ones and searches of bounded
 * effort, until one reaches the lower bound; the highest part is then given to the exact search ({@link SectionSearch}) as long as
 * there is time, nothing is proved, and the capacity is not met. Every plan is checked by {@link PlanValidator} before it is
 * returned.
 *
 * <p>Repeatable: equal problems get equal plans, unless time ran out in between. An interrupt ends planning as the timeout
 * does and stays set.
 *
 * <p>Threading: stateless. Stack: the search nests one call for each decision, i.e. a little more than the buffers of a part;
 * it runs in a thread of its own that ends before the call returns.
 */
public final class MemoryPlanner {
    private final PlanProblem problem;
    private final PlanOptions options;
    private final Deadline deadline;

    private MemoryPlanner(PlanProblem problem, PlanOptions options, Deadline deadline) {
        this.problem = problem;
        this.options = options;
        this.deadline = deadline;
    }

    /**
     * Plans.
     *
     * @return the best plan that was found; it may be higher than the wanted capacity, see {@link MemoryPlan#height} and
     *     {@link Certificate#provesImpossible}
     * @throws IllegalArgumentException if two fixed buffers overlap
     */
    public static MemoryPlan plan(PlanProblem problem, PlanOptions options) {
        return plan(problem, options, System::nanoTime);
    }

    /** Bytes below which no plan of {@code problem} can be, without planning: O(n log n). */
    public static long lowerBound(PlanProblem problem) {
        return LowerBound.of(new Timeline(problem));
    }

    /** Plans by another clock, in nanoseconds. */
    static MemoryPlan plan(PlanProblem problem, PlanOptions options, LongSupplier clock) {
        long nanos = options.timeout().compareTo(Duration.ofDays(365)) > 0
                ? Long.MAX_VALUE
                : options.timeout().toNanos();
        return new MemoryPlanner(problem, options, new Deadline(clock, nanos)).plan();
    }

    /** A part and which buffers of the problem are its own; null for all of them in order. */
    private static final class Share {
        private final Part part;
        private final int @Nullable [] buffers;

        Share(Part part, int @Nullable [] buffers) {
            this.part = part;
            this.buffers = buffers;
        }
    }

    private MemoryPlan plan() {
        List<Share> shares = divide();
        long lower = 0;
        for (Share share : shares) {
            lower = Math.max(lower, share.part.lower());
        }
        for (Share share : shares) {
            share.part.greedy(Math.max(lower, options.capacity().orElse(0)));
        }
        PriorityQueue<Part> highest = new PriorityQueue<>(Comparator.comparingLong(part -> -part.height()));
        shares.forEach(share -> highest.add(share.part));
        if (options.search() && lower <= options.capacity().orElse(Long.MAX_VALUE)) {
            lower = SearchThread.run(() -> improve(highest));
        }
        return assemble(shares, highest, lower);
    }

    /** Searches the highest part until it cannot or need not get lower; returns the lower bound of the whole. */
    private long improve(PriorityQueue<Part> highest) {
        long lower = lowerOf(highest);
        Part part = highest.poll();
        while (part != null
                && part.height() > Math.max(lower, options.capacity().orElse(0))
                && lower <= options.capacity().orElse(Long.MAX_VALUE)
                && part.searchable()
                && !deadline.passed()) {
            if (options.capacity().isPresent()) {
                part.search(options.capacity().getAsLong(), true);
            } else {
                part.search(lower, false);
            }
            lower = Math.max(lower, part.lower());
            highest.add(part);
            part = highest.poll();
        }
        if (part != null) {
            highest.add(part);
        }
        return lower;
    }

    private static long lowerOf(Iterable<Part> parts) {
        long lower = 0;
        for (Part part : parts) {
            lower = Math.max(lower, part.lower());
        }
        return lower;
    }

    private MemoryPlan assemble(List<Share> shares, PriorityQueue<Part> highest, long lower) {
        long[] offsets = new long[problem.count()];
        long nodes = 0;
        for (Share share : shares) {
            long[] some = share.part.offsets();
            for (int k = 0; k < some.length; k++) {
                offsets[share.buffers == null ? k : share.buffers[k]] = some[k];
            }
            nodes += share.part.nodes();
        }
        long height = PlanValidator.validate(problem, offsets);
        Part top = highest.peek();
        PlanMethod method = top == null ? PlanMethod.FIRST_FIT : top.method();
        return new MemoryPlan(
                offsets, new Certificate(height, lower, method, nodes, Duration.ofNanos(deadline.elapsedNanos())));
    }

    /** Cuts the problem at the moments at which as many buffers have died as were born. */
    private List<Share> divide() {
        int count = problem.count();
        long[] starts = new long[count];
        long[] ends = new long[count];
        for (int i = 0; i < count; i++) {
            starts[i] = problem.start(i);
            ends[i] = problem.end(i);
        }
        Arrays.sort(starts);
        Arrays.sort(ends);
        long[] cuts = new long[count];
        int parts = 0;
        for (int born = 0; born < count; born++) {
            if (born == 0 || ends[born - 1] <= starts[born]) {
                cuts[parts++] = starts[born];
            }
        }
        return parts > 1 ? shares(Arrays.copyOf(cuts, parts)) : count == 0 ? List.of() : List.of(whole());
    }

    private Share whole() {
        return new Share(new Part(problem, deadline), null);
    }

    /** One share for each of the ascending times at which a part begins. */
    private List<Share> shares(long[] begins) {
        int[] owner = new int[problem.count()];
        int[] length = new int[begins.length];
        for (int i = 0; i < owner.length; i++) {
            int found = Arrays.binarySearch(begins, problem.start(i));
            owner[i] = found >= 0 ? found : -found - 2;
            length[owner[i]]++;
        }
        int[][] buffers = new int[begins.length][];
        Arrays.setAll(buffers, part -> new int[length[part]]);
        Arrays.fill(length, 0);
        for (int i = 0; i < owner.length; i++) {
            buffers[owner[i]][length[owner[i]]++] = i;
        }
        List<Share> shares = new ArrayList<>(begins.length);
        for (int[] some : buffers) {
            shares.add(new Share(new Part(problem.part(some), deadline), some));
        }
        return shares;
    }
}
