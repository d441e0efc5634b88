// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

import io.memopt.allocator.plan.Certificate;
import io.memopt.allocator.plan.MemoryPlan;
import io.memopt.allocator.plan.MemoryPlanner;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.plan.PlanProblem;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongUnaryOperator;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Where each workspace array of a stretch of work lies in one arena, in the order in which they are asked for. An array may
 * take the bytes of another whose last use came before its birth.
 *
 * <p>Threading: immutable.
 */
public final class ArenaPlan {
    /** Addresses of bytes that are lent between two arrays are multiples of this: as those of {@code cudaMalloc}, which libraries count on. */
    public static final long SPARE_ALIGNMENT = 256;

    private final List<PlannedArray> arrays;
    private final MemoryPlan plan;
    private final int[] byEnd;
    private final long scopeBytes;
    private final AtomicReferenceArray<@Nullable SpareBytes> spares;

    private ArenaPlan(List<PlannedArray> arrays, PlanOptions options) {
        this.arrays = List.copyOf(arrays);
        this.plan = MemoryPlanner.plan(problem(PlannedArray::end), options);
        this.byEnd = IntStream.range(0, arrays.size())
                .boxed()
                .sorted(Comparator.comparingInt(i -> arrays.get(i).end()))
                .mapToInt(Integer::intValue)
                .toArray();
        this.spares = new AtomicReferenceArray<>(arrays.size() + 1);
        this.scopeBytes = MemoryPlanner.lowerBound(problem(PlannedArray::scopeEnd));
    }

    /**
     * Plans {@code arrays}.
     *
     * @param arrays in order of birth, those of workspaces that are not served left out
     */
    public static ArenaPlan of(List<PlannedArray> arrays, PlanOptions options) {
        return new ArenaPlan(arrays, options);
    }

    /**
     * The plan for another batch size, from those of two: every array's size is an affine function of the batch, and the
     * order of births and last uses does not depend on it.
     *
     * @param batch of this plan
     * @param other the plan for {@code otherBatch}, which differs from {@code batch}
     * @param newBatch the size asked for
     * @param rounding what a workspace takes for an array of so many bytes
     * @return empty when the two plans are not of one kind, or a size would not be a whole number of bytes
     */
    public Optional<ArenaPlan> extrapolate(
            int batch, ArenaPlan other, int otherBatch, int newBatch, LongUnaryOperator rounding, PlanOptions options) {
        if (arrays.size() != other.arrays.size()) {
            return Optional.empty();
        }
        List<PlannedArray> resized = new ArrayList<>(arrays.size());
        for (int i = 0; i < arrays.size(); i++) {
            PlannedArray mine = arrays.get(i);
            PlannedArray its = other.arrays.get(i);
            long growth = (its.requestedBytes() - mine.requestedBytes()) * (newBatch - batch);
            long size = mine.requestedBytes() + growth / (otherBatch - batch);
            if (!mine.isKin(its) || growth % (otherBatch - batch) != 0 || size < 0) {
                return Optional.empty();
            }
            resized.add(mine.resized(size, rounding.applyAsLong(size)));
        }
        return Optional.of(new ArenaPlan(resized, options));
    }

    /** What is planned, in order of birth. */
    public List<PlannedArray> arrays() {
        return arrays;
    }

    /** Number of arrays. */
    public int size() {
        return arrays.size();
    }

    /** Bytes of the arena. */
    public long height() {
        return plan.height();
    }

    /** Bytes that any arena needs for these lifetimes, and how well {@link #height} meets them. */
    public Certificate certificate() {
        return plan.certificate();
    }

    /** Most bytes that lie in open scopes at once, i.e. what could not be saved if arrays lived to the end of their scopes. */
    public long scopeBytes() {
        return scopeBytes;
    }

    /** Whether the {@code index}-th array was asked for like this; false beyond the last. */
    boolean matches(int index, String workspace, long roundedBytes) {
        return index < arrays.size()
                && arrays.get(index).roundedBytes() == roundedBytes
                && arrays.get(index).workspace().equals(workspace);
    }

    /** Bytes from the start of the arena. */
    long offset(int index) {
        return plan.offset(index);
    }

    /** The {@code place}-th array in the order in which they give up their bytes. */
    int ending(int place) {
        return byEnd[place];
    }

    /** Whether {@code array} has given up its bytes when {@code born} takes its own. */
    boolean endsBefore(int array, int born) {
        return arrays.get(array).end() <= arrays.get(born).birth();
    }

    /** Whether {@code array} keeps its bytes until its scope is left, not merely to its last use. */
    boolean endsWithScope(int array) {
        return arrays.get(array).end() == arrays.get(array).scopeEnd();
    }

    /**
     * Whether {@code bytes} that begin at a multiple of {@value #SPARE_ALIGNMENT} lie free in the arena from when the array with number {@code birth} would be next until
     * it is asked for.
     *
     * @param birth as {@link PlannedArray#birth()}
     */
    public boolean lends(int birth, long bytes) {
        int born = 0;
        while (born < arrays.size() && arrays.get(born).birth() < birth) {
            born++;
        }
        return spare(born).find(bytes + SPARE_ALIGNMENT - 1, height()) != PlanCursor.MISS;
    }

    /** Bytes that no array has when {@code born} arrays were asked for, until the next is. */
    SpareBytes spare(int born) {
        SpareBytes known = spares.get(born);
        if (known == null) {
            known = findSpare(born);
            spares.set(born, known);
        }
        return known;
    }

    private SpareBytes findSpare(int born) {
        int[] living = IntStream.range(0, born)
                .filter(array -> arrays.get(array).end() >= born)
                .boxed()
                .sorted(Comparator.comparingLong(this::offset))
                .mapToInt(Integer::intValue)
                .toArray();
        long top = 0;
        long gapStart = 0;
        long gap = 0;
        for (int array : living) {
            long start = offset(array);
            if (start - top > gap) {
                gap = start - top;
                gapStart = top;
            }
            top = Math.max(top, start + arrays.get(array).roundedBytes());
        }
        return new SpareBytes(gapStart, gap, top);
    }

    private PlanProblem problem(ToIntFunction<PlannedArray> end) {
        PlanProblem.Builder problem = PlanProblem.builder();
        for (PlannedArray array : arrays) {
            problem.add(array.birth(), end.applyAsInt(array), Math.max(1, array.roundedBytes()));
        }
        return problem.build();
    }
}
