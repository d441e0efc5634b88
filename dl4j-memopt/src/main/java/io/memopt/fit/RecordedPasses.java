// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.nd4j.Recording;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntConsumer;

/**
 * What passes of a network would take at any batch size with ND4J's own workspaces, from passes with two tiny batches that the
 * caller computes on its own thread, in the network itself.
 *
 * <p>Figures are of workspaces and of arrays outside them; what the network holds for good, and the minibatch, come on top.
 * Immutable, thread-safe; a batch takes as long as its simulation.
 */
public final class RecordedPasses {
    private final Passes passes;

    private RecordedPasses(Passes passes) {
        this.passes = passes;
    }

    /**
     * Bytes at one batch size.
     *
     * @param peakBytes fullest moment from the first pass on, in which arrays spill because workspaces do not know their size yet
     * @param settledBytes fullest moment of a pass once they do
     * @param detachedBytes most bytes of arrays outside workspaces in one pass, those left to the collector held to its end
     * @param garbageBytes arrays outside workspaces that a pass leaves to the Java collector
     */
    public record Need(long peakBytes, long settledBytes, long detachedBytes, long garbageBytes) {}

    /**
     * Has {@code pass} compute a pass with {@code low} and one with {@code high} examples, and writes down what that does to memory. If
     * the two differ, the first is computed once more: ND4J makes some constants once in the life of a process. Nothing may serve
     * workspaces in ND4J's place meanwhile.
     *
     * @return empty when the two passes did not do the same things in the same order
     */
    public static Optional<RecordedPasses> record(Recording recording, int low, int high, IntConsumer pass) {
        OwnerTable owners = recording.ledger().owners();
        StraightLines.Point first = seen(recording, low, pass);
        StraightLines.Point second = seen(recording, high, pass);
        return StraightLines.through(first, second, owners)
                .or(() -> StraightLines.through(seen(recording, low, pass), second, owners))
                .map(RecordedPasses::new);
    }

    private static StraightLines.Point seen(Recording recording, int batch, IntConsumer pass) {
        TrialRecorder recorder = new TrialRecorder(recording.ledger());
        recording.ledger().addSink(recorder);
        recording.addObserver(recorder);
        try {
            pass.accept(batch);
            recorder.endPass();
        } finally {
            recording.ledger().removeSink(recorder);
            recording.removeObserver(recorder);
        }
        Map<String, WorkspaceRules> rules = Trial.rules();
        return new StraightLines.Point(
                batch, new Trial.Seen(recorder.passes(), rules, new NetworkBytes(0, 0, 0), List.of()));
    }

    /** What a pass with {@code batch} examples takes. */
    public Need at(int batch) {
        Simulation.Outcome outcome = Simulation.run(passes, batch, Alignment.BYTES);
        return new Need(outcome.peakBytes(), outcome.settledBytes(), detachedBytes(batch), outcome.garbageBytes());
    }

    private long detachedBytes(int batch) {
        long now = 0;
        long most = 0;
        for (Step step : passes.later()) {
            if (step.op() == Step.Op.DETACHED) {
                now += step.bytes(batch);
            } else if (step.op() == Step.Op.FREE) {
                now -= step.bytes(batch);
            }
            most = Math.max(most, now);
        }
        return most;
    }
}
