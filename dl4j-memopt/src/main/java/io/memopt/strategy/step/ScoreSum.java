// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.strategy.NetworkAccess;
import java.util.Arrays;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.layers.BaseOutputLayer;

/**
 * The score of several passes with the same parameters, as one pass over all their examples would have it. Deeplearning4j's
 * score is the loss of all examples divided by their number, padding and masked steps included as zeros, plus regularisation;
 * with {@code miniBatch(false)} output layers with parameters do not divide. Threading: confined.
 */
final class ScoreSum {
    private final boolean averages;
    private double loss;
    private int examples;
    private int passes;
    private double latest;
    private double markedLoss;
    private int markedExamples;
    private int markedPasses;

    ScoreSum(Model model) {
        this.averages = model.conf().isMiniBatch()
                || Arrays.stream(NetworkAccess.layers(model))
                        .filter(IOutputLayer.class::isInstance)
                        .noneMatch(BaseOutputLayer.class::isInstance);
    }

    boolean isEmpty() {
        return examples == 0;
    }

    /** Adds the score that {@code model} has now, of so many examples. */
    void add(Model model, int count) {
        latest = model.score();
        double its = latest - NetworkAccess.regularization(model);
        loss += averages ? its * count : its;
        examples += count;
        passes++;
    }

    /** The score of all that was added; of a single pass its own, bit for bit. */
    double mean(Model model) {
        return passes == 1 ? latest : (averages ? loss / examples : loss) + NetworkAccess.regularization(model);
    }

    int examples() {
        return examples;
    }

    void clear() {
        loss = 0;
        examples = 0;
        passes = 0;
    }

    /** Remembers the sum, for {@link #rollBack}. */
    void mark() {
        markedLoss = loss;
        markedExamples = examples;
        markedPasses = passes;
    }

    void rollBack() {
        loss = markedLoss;
        examples = markedExamples;
        passes = markedPasses;
    }
}
