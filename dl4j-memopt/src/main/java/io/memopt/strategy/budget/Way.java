// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.analysis.Exactness;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.NetworkScratch;
import io.memopt.strategy.offload.Offload;
import io.memopt.strategy.step.StepOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One way to train.
 *
 * @param pass how gradients are computed
 * @param parts that a minibatch is computed in
 * @param stateInFile whether the updater's state is offloaded: to a mapped file or, with CUDA, the host
 * @param scratchBytes most scratch memory that a pass of a convolution may take; {@link #NO_SCRATCH} where none is taken at all
 * @param scratchAloneBytes most of it that may lie beside workspaces or arena
 */
record Way(PassKind pass, int parts, boolean stateInFile, Reuse reuse, long scratchBytes, long scratchAloneBytes) {
    /** Convolutions are Deeplearning4j's own. */
    static final long NO_SCRATCH = -1;

    /** Without an engine that takes scratch memory. */
    Way(PassKind pass, int parts, boolean stateInFile, Reuse reuse) {
        this(pass, parts, stateInFile, reuse, NO_SCRATCH, 0);
    }

    /** That of {@code row}. */
    static Way of(BudgetRow row) {
        PassKind pass = new PassKind(new Keep(row.cuts()), row.keptInFiles(), row.caching(), row.precision());
        return new Way(pass, row.parts(), row.stateInFile(), row.reuse(), row.scratchBytes(), row.scratchAloneBytes());
    }

    Way withScratch(long bytes, long besideBytes) {
        return new Way(pass, parts, stateInFile, reuse, bytes, besideBytes);
    }

    /** Has convolutions keep to it. */
    void limit(NetworkScratch scratch) {
        if (scratchBytes == NO_SCRATCH) {
            scratch.limit(NetworkScratch.UNLIMITED);
        } else {
            scratch.limit(scratchBytes, scratchAloneBytes);
        }
    }

    /** Relative to convolutions as an engine computes them under the limit of scratch memory. */
    Exactness exactness() {
        Exactness ofParts = parts > 1 ? Exactness.REORDERED : Exactness.BITWISE;
        return ofParts.compareTo(pass.exactness()) > 0 ? ofParts : pass.exactness();
    }

    /** Examples of the largest part. */
    int partOf(int batch) {
        return (batch + parts - 1) / parts;
    }

    /** The step that computes minibatches of {@code batch} examples in this way; {@code asked} has folders, and minibatches of an update. */
    StepOptions step(int batch, StepOptions asked) {
        StepOptions whole = pass.step(asked);
        Optional<Offload> state = stateInFile ? asked.stateOffload() : Optional.empty();
        return new StepOptions(
                parts > 1 ? partOf(batch) : StepOptions.WHOLE,
                asked.accumulate(),
                1,
                whole.cuts(),
                whole.precision(),
                state,
                whole.outputOffload());
    }

    /** What differs from Deeplearning4j's own way, e.g. {@code planned workspaces, 4 segments of layers}. */
    String text(int batch) {
        List<String> words = new ArrayList<>();
        words.add(
                switch (reuse) {
                    case OFF -> "plain workspaces";
                    case RELEASED -> "plain workspaces, garbage released";
                    case SIZED -> "sized workspaces";
                    case PLANNED -> "planned workspaces";
                });
        if (scratchBytes == 0) {
            words.add("convolutions without scratch");
        } else if (scratchBytes > 0) {
            words.add("scratch of convolutions of at most " + ByteSize.scaled(scratchBytes));
        }
        if (pass.caching() != Caching.NONE) {
            words.add(pass.caching() == Caching.KEPT ? "cache mode kept" : "cache mode off");
        }
        if (!pass.keep().isAll()) {
            List<Integer> cuts = pass.keep().cuts();
            words.add(Count.of(cuts.size(), "checkpointed segment") + " " + cuts
                    + (pass.keptInFiles() ? " offloaded" : ""));
        }
        if (stateInFile) {
            words.add("updater state offloaded");
        }
        if (pass.mixes()) {
            words.add("mixed precision");
        }
        if (parts > 1) {
            words.add("parts of " + Count.of(partOf(batch), "example"));
        }
        return String.join(", ", words);
    }
}
