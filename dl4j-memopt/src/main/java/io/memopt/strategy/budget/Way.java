// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.Count;
import io.memopt.analysis.Exactness;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.step.StepOptions;
import java.util.ArrayList;
import java.util.List;

/**
 * One way to train.
 *
 * @param parts that a minibatch is computed in
 */
record Way(Keep keep, int parts, Reuse reuse) {

    Exactness exactness() {
        return parts > 1 ? Exactness.REORDERED : Exactness.BITWISE;
    }

    /** Examples of the largest part. */
    int partOf(int batch) {
        return (batch + parts - 1) / parts;
    }

    /** The step that computes minibatches of {@code batch} examples in this way. */
    StepOptions step(int batch, int accumulate) {
        return new StepOptions(parts > 1 ? partOf(batch) : StepOptions.WHOLE, accumulate, 1, keep.cuts());
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
        if (!keep.isAll()) {
            words.add(Count.of(keep.cuts().size(), "checkpointed segment") + " " + keep.cuts());
        }
        if (parts > 1) {
            words.add("parts of " + Count.of(partOf(batch), "example"));
        }
        return String.join(", ", words);
    }
}
