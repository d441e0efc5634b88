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
    private final long[] bytes;
    private final long[] offsets;
    private final int[] births;
    private final int[] ends;
    private final int[] byEnd;
    private final long scopeBytes;
    private final Certificate certificate;

    private ArenaPlan(String[] workspaces, long[] bytes, int[] births, int[] ends, MemoryPlan plan, long scopeBytes) {
        this.workspaces = workspaces;
        this.bytes = bytes;
        this.births = births;
        this.ends = ends;
        this.byEnd = byEnd(ends);
        this.offsets = plan.offsets();
        this.certificate = plan.certificate();
        this.scopeBytes = scopeBytes;
    }

    /**
     * Plans what a window recorded. Arrays that nobody was seen to use, and those of at most {@value #TINY} bytes, live to
     * the end of their scope.
     *
     * @param lifetimes in order of birth, those of workspaces that are not served left out
     * @param kept arrays that must live to the end of their scope for another reason
     */
    public static ArenaPlan of(List<ArrayLifetime> lifetimes, Predicate<ArrayLifetime> kept, PlanOptions options) {
        int count = lifetimes.size();
        String[] workspaces = new String[count];
        long[] bytes = new long[count];
        int[] births = new int[count];
        int[] ends = new int[count];
        PlanProblem.Builder problem = PlanProblem.builder();
        PlanProblem.Builder scopes = PlanProblem.builder();
        for (int i = 0; i < count; i++) {
            ArrayLifetime array = lifetimes.get(i);
            boolean toTheEnd = !array.used() || array.roundedBytes() <= TINY || kept.test(array);
            workspaces[i] = array.workspace();
            bytes[i] = array.roundedBytes();
            long size = Math.max(1, array.roundedBytes());
            births[i] = array.sequence();
            ends[i] = 1 + (toTheEnd ? array.end() : array.lastUse());
            problem.add(births[i], ends[i], size);
            scopes.add(births[i], 1L + array.end(), size);
        }
        MemoryPlan plan = MemoryPlanner.plan(problem.build(), options);
        long scopeBytes = MemoryPlanner.plan(scopes.build(), PlanOptions.greedy())
                .certificate()
                .lowerBound();
        return new ArenaPlan(workspaces, bytes, births, ends, plan, scopeBytes);
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
