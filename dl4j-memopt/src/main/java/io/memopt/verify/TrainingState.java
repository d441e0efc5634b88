// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/** What a run came to, copied to the Java heap: 8 bytes a parameter. Widening to double is exact for every data type. */
final class TrainingState {
    private final double[] parameters;
    private final double[] updaterState;
    private final double[] scores;

    private TrainingState(double[] parameters, double[] updaterState, double[] scores) {
        this.parameters = parameters;
        this.updaterState = updaterState;
        this.scores = scores;
    }

    static TrainingState of(Model model, double[] scores) {
        return new TrainingState(copy(model.params()), copy(Models.updaterState(model)), scores.clone());
    }

    /** True when the parameters are those, bit for bit. */
    boolean hasParameters(@Nullable INDArray others) {
        return new Sum(parameters, copy(others)).differing == 0;
    }

    Difference minus(TrainingState other) {
        Sum inParameters = new Sum(parameters, other.parameters);
        Sum inState = new Sum(updaterState, other.updaterState);
        Sum inScores = new Sum(scores, other.scores);
        return new Difference(
                inParameters.largest,
                inState.largest,
                inScores.largest,
                inParameters.differing + inState.differing + inScores.differing,
                inScores.first);
    }

    /** How far each block of {@code model}'s parameters is apart in two states of networks like it. */
    List<BlockDifference> blocks(TrainingState other, Model model) {
        List<BlockDifference> blocks = new ArrayList<>();
        model.paramTable().forEach((name, array) -> {
            int from = Math.toIntExact(array.offset() - model.params().offset());
            int to = Math.toIntExact(from + array.length());
            double[] mine = Arrays.copyOfRange(parameters, from, to);
            Sum sum = new Sum(mine, Arrays.copyOfRange(other.parameters, from, to));
            double size = Arrays.stream(mine).map(Math::abs).max().orElse(0);
            blocks.add(new BlockDifference(
                    name, to - from, sum.differing, sum.largest, size == 0 ? sum.largest : sum.largest / size));
        });
        return blocks;
    }

    private static double[] copy(@Nullable INDArray array) {
        if (array == null) {
            return new double[0];
        }
        try (INDArray copy = array.dup()) {
            return copy.data().asDouble();
        }
    }

    /** Compares two rows of numbers; a missing one differs infinitely. */
    private static final class Sum {
        private double largest;
        private long differing;
        private int first = -1;

        Sum(double[] a, double[] b) {
            for (int i = 0; i < Math.max(a.length, b.length); i++) {
                boolean both = i < a.length && i < b.length;
                if (!both || Double.doubleToRawLongBits(a[i]) != Double.doubleToRawLongBits(b[i])) {
                    double apart = both ? Math.abs(a[i] - b[i]) : Double.POSITIVE_INFINITY;
                    largest = Math.max(largest, Double.isNaN(apart) ? Double.POSITIVE_INFINITY : apart);
                    differing++;
                    first = first < 0 ? i : first;
                }
            }
        }
    }
}
