// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.reuse.ArenaPlan;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** One kind of pass and how far its plan has come. Threading: written by its thread; any may read. */
final class PlannedRegion {
    /** Recordings of a pass whose arrays differ from one time to the next. */
    static final int MAX_RECORDINGS = 3;

    enum Stage {
        /** ND4J serves it; the next pass is recorded. */
        UNKNOWN,
        /** There is a plan; the next pass is computed both ways. */
        PLANNED,
        /** Served from the arena. */
        TRUSTED,
        /** Left to ND4J for good. */
        REFUSED
    }

    private final RegionKey key;
    private final boolean provesAll;
    private volatile Stage stage = Stage.UNKNOWN;
    private volatile @Nullable ArenaPlan plan;
    private volatile String reason = "";
    private volatile boolean derived;
    private int recordings;
    private final AtomicLong served = new AtomicLong();
    private final AtomicLong missed = new AtomicLong();

    /** {@code provesAll}: whether what was proved elsewhere is proved once more here. */
    PlannedRegion(RegionKey key, boolean provesAll) {
        this.key = key;
        this.provesAll = provesAll;
    }

    RegionKey key() {
        return key;
    }

    Stage stage() {
        return stage;
    }

    @Nullable
    ArenaPlan plan() {
        return plan;
    }

    /** Number of arrays of its plan; 0 without one. */
    int arrays() {
        ArenaPlan its = plan;
        return its == null ? 0 : its.size();
    }

    /** Why it is refused; empty otherwise. */
    String reason() {
        return reason;
    }

    /** Passes served from the arena. */
    long served() {
        return served.get();
    }

    /** Passes that asked for other arrays than planned; ND4J served the rest of each. */
    long missed() {
        return missed.get();
    }

    void planned(ArenaPlan newPlan) {
        plan = newPlan;
        derived = false;
        recordings++;
        stage = Stage.PLANNED;
    }

    /** A plan that follows from those of other batches, both proved. */
    void derived(ArenaPlan newPlan) {
        plan = newPlan;
        derived = true;
        stage = provesAll ? Stage.PLANNED : Stage.TRUSTED;
    }

    /** A plan that was proved in another run of the same network. */
    void remembered(ArenaPlan newPlan) {
        plan = newPlan;
        stage = provesAll ? Stage.PLANNED : Stage.TRUSTED;
    }

    boolean isDerived() {
        return derived;
    }

    /** False once a derived plan did not fit. */
    boolean derivable() {
        return missed.get() == 0 && recordings == 0;
    }

    /** The pass that was recorded did not come to its end, so the plan may lack arrays. */
    void abandoned() {
        if (stage == Stage.PLANNED && recordings < MAX_RECORDINGS) {
            stage = Stage.UNKNOWN;
        }
    }

    void trust() {
        stage = Stage.TRUSTED;
    }

    void refuse(String why) {
        reason = why;
        stage = Stage.REFUSED;
        plan = null;
    }

    /** The arrays of a pass were others than planned. */
    void differs() {
        missed.incrementAndGet();
        if (recordings >= MAX_RECORDINGS) {
            refuse("its arrays differ from one pass to the next (recorded " + Count.times(recordings) + ")");
        } else {
            stage = Stage.UNKNOWN;
        }
    }

    void countServed() {
        served.incrementAndGet();
    }
}
