// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

import io.memopt.allocator.plan.Certificate;
import io.memopt.allocator.plan.MemoryPlan;
import io.memopt.allocator.plan.MemoryPlanner;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.plan.PlanProblem;
import io.memopt.allocator.use.ArrayLifetime;
import java.util.List;
import java.util.function.Predicate;

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
    private final long scopeBytes;
    private final Certificate certificate;

    private ArenaPlan(String[] workspaces, long[] bytes, long[] offsets, long scopeBytes, Certificate certificate) {
        this.workspaces = workspaces;
        this.bytes = bytes;
        this.offsets = offsets;
        this.scopeBytes = scopeBytes;
        this.certificate = certificate;
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
        PlanProblem.Builder problem = PlanProblem.builder();
        PlanProblem.Builder scopes = PlanProblem.builder();
        for (int i = 0; i < count; i++) {
            ArrayLifetime array = lifetimes.get(i);
            boolean toTheEnd = !array.used() || array.roundedBytes() <= TINY || kept.test(array);
            workspaces[i] = array.workspace();
            bytes[i] = array.roundedBytes();
            long size = Math.max(1, array.roundedBytes());
            problem.add(array.sequence(), 1L + (toTheEnd ? array.end() : array.lastUse()), size);
            scopes.add(array.sequence(), 1L + array.end(), size);
        }
        MemoryPlan plan = MemoryPlanner.plan(problem.build(), options);
        long scopeBytes = MemoryPlanner.plan(scopes.build(), PlanOptions.greedy())
                .certificate()
                .lowerBound();
        return new ArenaPlan(workspaces, bytes, plan.offsets(), scopeBytes, plan.certificate());
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

    /** Bytes from the start of the arena. */
    long offset(int index) {
        return offsets[index];
    }
}
