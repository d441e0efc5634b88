// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

import io.memopt.allocator.plan.Certificate;
import io.memopt.allocator.plan.MemoryPlan;
import io.memopt.allocator.plan.MemoryPlanner;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.plan.PlanProblem;
import io.memopt.allocator.use.ArrayLifetime;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * Where each workspace array of a stretch of work lies in one arena, in the order in which they are asked for. An array may
 * take the bytes of another whose last use came before its birth.
 *
 * <p>Threading: immutable.
 */
public final class ArenaPlan {
    /** Arrays of so few bytes are held to the end of their scope: Java code may read them without a native call. */
    static final long TINY = 64;

    private final String[] workspaces;
    private final long[] requested;
    private final long[] bytes;
    private final long[] offsets;
    private final int[] births;
    /** First birth that may take the bytes, whatever the size of the array. */
    private final int[] lastUses;

    private final int[] scopeEnds;
    private final int[] ends;
    private final int[] byEnd;
    private final long scopeBytes;
    private final Certificate certificate;

    private ArenaPlan(Arrays arrays, PlanOptions options) {
        this.workspaces = arrays.workspaces;
        this.requested = arrays.requested;
        this.bytes = arrays.bytes;
        this.births = arrays.births;
        this.lastUses = arrays.lastUses;
        this.scopeEnds = arrays.scopeEnds;
        this.ends = arrays.ends();
        MemoryPlan plan = MemoryPlanner.plan(arrays.problem(ends), options);
        this.byEnd = byEnd(ends);
        this.offsets = plan.offsets();
        this.certificate = plan.certificate();
        this.scopeBytes = MemoryPlanner.plan(arrays.problem(arrays.scopeEnds), PlanOptions.greedy())
                .certificate()
                .lowerBound();
    }

    /**
     * Plans what a window recorded. Arrays that nobody was seen to use, and those of at most {@value #TINY} bytes, live to
     * the end of their scope.
     *
     * @param lifetimes in order of birth, those of workspaces that are not served left out
     * @param kept arrays that must live to the end of their scope for another reason
     */
    public static ArenaPlan of(List<ArrayLifetime> lifetimes, Predicate<ArrayLifetime> kept, PlanOptions options) {
        Arrays arrays = new Arrays(lifetimes.size());
        for (int i = 0; i < lifetimes.size(); i++) {
            ArrayLifetime array = lifetimes.get(i);
            boolean toTheEnd = !array.used() || kept.test(array);
            arrays.workspaces[i] = array.workspace();
            arrays.requested[i] = array.requestedBytes();
            arrays.bytes[i] = array.roundedBytes();
            arrays.births[i] = array.sequence();
            arrays.lastUses[i] = 1 + (toTheEnd ? array.end() : array.lastUse());
            arrays.scopeEnds[i] = 1 + array.end();
        }
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
        if (!java.util.Arrays.equals(workspaces, other.workspaces)
                || !java.util.Arrays.equals(births, other.births)
                || !java.util.Arrays.equals(lastUses, other.lastUses)
                || !java.util.Arrays.equals(scopeEnds, other.scopeEnds)) {
            return Optional.empty();
        }
        Arrays arrays = new Arrays(workspaces, births, lastUses, scopeEnds);
        for (int i = 0; i < workspaces.length; i++) {
            long difference = (other.requested[i] - requested[i]) * (newBatch - batch);
            long size = requested[i] + difference / (otherBatch - batch);
            if (difference % (otherBatch - batch) != 0 || size < 0) {
                return Optional.empty();
            }
            arrays.requested[i] = size;
            arrays.bytes[i] = rounding.applyAsLong(size);
        }
        return Optional.of(new ArenaPlan(arrays, options));
    }

    /** What a plan is made from, an entry for each array. */
    private static final class Arrays {
        final String[] workspaces;
        final long[] requested;
        final long[] bytes;
        final int[] births;
        final int[] lastUses;
        final int[] scopeEnds;

        Arrays(int count) {
            this(new String[count], new int[count], new int[count], new int[count]);
        }

        Arrays(String[] workspaces, int[] births, int[] lastUses, int[] scopeEnds) {
            this.workspaces = workspaces;
            this.births = births;
            this.lastUses = lastUses;
            this.scopeEnds = scopeEnds;
            this.requested = new long[workspaces.length];
            this.bytes = new long[workspaces.length];
        }

        int[] ends() {
            int[] ends = lastUses.clone();
            for (int i = 0; i < ends.length; i++) {
                ends[i] = bytes[i] <= TINY ? scopeEnds[i] : lastUses[i];
            }
            return ends;
        }

        PlanProblem problem(int[] until) {
            PlanProblem.Builder problem = PlanProblem.builder();
            for (int i = 0; i < bytes.length; i++) {
                problem.add(births[i], until[i], Math.max(1, bytes[i]));
            }
            return problem.build();
        }
    }

    /** Number of arrays. */
    public int size() {
        return offsets.length;
    }

    /** Bytes of the arena. */
    public long height() {
        return certificate.height();
    }

    /** Bytes that any arena needs for these lifetimes, and how well {@link #height} meets them. */
    public Certificate certificate() {
        return certificate;
    }

    /** Most bytes that lie in open scopes at once, i.e. what could not be saved if arrays lived to the end of their scopes. */
    public long scopeBytes() {
        return scopeBytes;
    }

    /** Whether the {@code index}-th array was asked for like this; false beyond the last. */
    boolean matches(int index, String workspace, long roundedBytes) {
        return index < offsets.length && bytes[index] == roundedBytes && workspaces[index].equals(workspace);
    }

    /** The {@code place}-th array in the order in which they give up their bytes. */
    int ending(int place) {
        return byEnd[place];
    }

    /** Whether {@code array} has given up its bytes when {@code born} takes its own. */
    boolean endsBefore(int array, int born) {
        return ends[array] <= births[born];
    }

    /** Whether {@code array} keeps its bytes until its scope is left, not merely to its last use. */
    boolean endsWithScope(int array) {
        return ends[array] == scopeEnds[array];
    }

    private static int[] byEnd(int[] ends) {
        return IntStream.range(0, ends.length)
                .boxed()
                .sorted(Comparator.comparingInt(i -> ends[i]))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    /** Bytes from the start of the arena. */
    long offset(int index) {
        return offsets[index];
    }
}
