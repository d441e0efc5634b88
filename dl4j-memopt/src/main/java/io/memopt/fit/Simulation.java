// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Runs {@link Passes} without memory at one batch size. Detached arrays that the program does not close are taken to be
 * collected when their pass ends. Not thread-safe; O(steps) for each pass.
 */
final class Simulation {
    /** A workspace that is opened once in a pass may wait for as many passes as the graph has vertices. */
    private static final int MOST_PASSES = 2000;

    private final Passes passes;
    private final long batch;
    private final long alignment;
    private final Map<String, SimulatedWorkspace> workspaces = new TreeMap<>();
    private final List<SimulatedWorkspace.Held> detached = new ArrayList<>();
    private long detachedBytes;
    private long workspaceBytes;

    private Simulation(Passes passes, long batch, long alignment) {
        this.passes = passes;
        this.batch = batch;
        this.alignment = alignment;
    }

    /** The fullest moment of a pass: after a step, counted from 0. */
    private record Moment(int pass, int step, long bytes) {}

    /**
     * What comes of it; bytes of workspaces and detached arrays.
     *
     * @param peakBytes fullest moment of all passes
     * @param settledBytes fullest moment of a pass once sizes no longer change
     * @param passes how many passes that takes
     * @param garbageBytes detached arrays that each settled pass leaves to the garbage collector
     * @param blockBytes blocks that stay between settled passes
     */
    record Outcome(long peakBytes, long settledBytes, int passes, long garbageBytes, long blockBytes) {}

    /** An outcome with what the two peaks are made of. */
    record Explained(Outcome outcome, List<Part> peak, List<Part> settled) {}

    static Outcome run(Passes passes, long batch, long alignment) {
        return new Simulation(passes, batch, alignment).run(new ArrayList<>());
    }

    static Explained explain(Passes passes, long batch, long alignment) {
        List<Moment> moments = new ArrayList<>();
        Outcome outcome = new Simulation(passes, batch, alignment).run(moments);
        return new Explained(
                outcome,
                new Simulation(passes, batch, alignment).partsAt(moments.get(0)),
                new Simulation(passes, batch, alignment).partsAt(moments.get(1)));
    }

    /** Adds the two peaks to {@code moments}. */
    private Outcome run(List<Moment> moments) {
        Moment highest = new Moment(0, -1, 0);
        Moment last;
        int count = 0;
        boolean settled;
        do {
            settled = count >= 2 && isSettled();
            endPass();
            last = pass(count++);
            highest = last.bytes() > highest.bytes() ? last : highest;
        } while (!settled && count < MOST_PASSES);
        moments.add(highest);
        moments.add(last);
        return new Outcome(highest.bytes(), last.bytes(), count - 1, detachedBytes, workspaceBytes);
    }

    private boolean isSettled() {
        return workspaces.values().stream().allMatch(SimulatedWorkspace::isSettled);
    }

    private Moment pass(int number) {
        List<Step> steps = stepsOf(number);
        int fullest = -1;
        long most = 0;
        for (int i = 0; i < steps.size(); i++) {
            take(steps.get(i));
            if (workspaceBytes + detachedBytes > most) {
                most = workspaceBytes + detachedBytes;
                fullest = i;
            }
        }
        return new Moment(number, fullest, most);
    }

    private List<Step> stepsOf(int pass) {
        return pass == 0 ? passes.first() : passes.later();
    }

    private void endPass() {
        detachedBytes = 0;
        detached.clear();
    }

    private List<Part> partsAt(Moment moment) {
        for (int i = 0; i < moment.pass(); i++) {
            pass(i);
            endPass();
        }
        stepsOf(moment.pass()).stream().limit(moment.step() + 1L).forEach(this::take);
        Parts parts = new Parts();
        workspaces.forEach(parts::workspace);
        parts.arrays("", detached);
        return parts.all();
    }

    private void take(Step step) {
        switch (step.op()) {
            case DETACHED -> detach(step, 1);
            case FREE -> detach(step, -1);
            default -> inWorkspace(step);
        }
    }

    private void detach(Step step, int sign) {
        long bytes = step.bytes(batch);
        detachedBytes = Math.max(0, detachedBytes + sign * bytes);
        if (sign > 0) {
            detached.add(new SimulatedWorkspace.Held(step.owner(), bytes, true));
        } else {
            detached.remove(new SimulatedWorkspace.Held(step.owner(), bytes, true));
        }
    }

    private void inWorkspace(Step step) {
        SimulatedWorkspace workspace = workspaces.computeIfAbsent(step.workspace(), name -> {
            SimulatedWorkspace made = new SimulatedWorkspace(passes.rulesOf(name), alignment);
            workspaceBytes += made.blockBytes();
            return made;
        });
        workspaceBytes -= workspace.blockBytes() + workspace.spilledBytes();
        switch (step.op()) {
            case ENTER -> workspace.enter();
            case CLOSE -> workspace.close();
            default -> workspace.array(step.owner(), step.bytes(batch));
        }
        workspaceBytes += workspace.blockBytes() + workspace.spilledBytes();
    }
}
