// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.OwnerTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Makes steps of any batch from steps seen at two batches. */
final class StraightLines {
    private StraightLines() {}

    /** A trial and its batch. */
    record Point(int batch, Trial.Seen seen) {}

    /** Empty when the two trials did not do the same things in the same order. */
    static Optional<Passes> through(Point low, Point high, OwnerTable owners) {
        List<List<TrialRecorder.Noted>> lowPasses = low.seen().passes();
        List<List<TrialRecorder.Noted>> highPasses = high.seen().passes();
        int last = lowPasses.size() - 1;
        if (!sameSteps(lowPasses.get(0), highPasses.get(0)) || !sameSteps(lowPasses.get(last), highPasses.get(last))) {
            return Optional.empty();
        }
        int apart = high.batch() - low.batch();
        return Optional.of(new Passes(
                line(lowPasses.get(0), highPasses.get(0), low.batch(), apart, owners),
                line(lowPasses.get(last), highPasses.get(last), low.batch(), apart, owners),
                low.seen().rules()));
    }

    /**
     * Largest difference, in bytes, between a step of a later pass and the same step of the last pass of {@code seen}; -1 when
     * the steps are others.
     */
    static long deviation(Passes passes, Point seen) {
        List<List<TrialRecorder.Noted>> noted = seen.seen().passes();
        return deviation(passes.later(), noted.get(noted.size() - 1), seen.batch());
    }

    private static long deviation(List<Step> steps, List<TrialRecorder.Noted> noted, int batch) {
        if (steps.size() != noted.size()) {
            return -1;
        }
        long most = 0;
        for (int i = 0; i < steps.size(); i++) {
            if (steps.get(i).op() != noted.get(i).op()) {
                return -1;
            }
            most = Math.max(
                    most, Math.abs(steps.get(i).bytes(batch) - noted.get(i).bytes()));
        }
        return most;
    }

    private static boolean sameSteps(List<TrialRecorder.Noted> low, List<TrialRecorder.Noted> high) {
        boolean same = low.size() == high.size();
        for (int i = 0; same && i < low.size(); i++) {
            same = low.get(i).op() == high.get(i).op()
                    && low.get(i).workspace().equals(high.get(i).workspace());
        }
        return same;
    }

    private static List<Step> line(
            List<TrialRecorder.Noted> low, List<TrialRecorder.Noted> high, int lowBatch, int apart, OwnerTable owners) {
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < low.size(); i++) {
            TrialRecorder.Noted noted = low.get(i);
            long perItem = (high.get(i).bytes() - noted.bytes()) / apart;
            steps.add(new Step(
                    noted.op(),
                    noted.workspace(),
                    owners.ownerOf(noted.owner()),
                    noted.bytes() - perItem * lowBatch,
                    perItem));
        }
        return steps;
    }
}
