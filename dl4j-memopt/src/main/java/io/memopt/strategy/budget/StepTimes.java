// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How long an iteration takes in one way or another: measured where a pass was timed, elsewhere what follows from that.
 *
 * <pre>
 *   step = parts * (pass(part) * factor of the kind of pass + what less scratch memory costs) + sums of gradients + update
 * </pre>
 *
 * Where a part was not timed, the time follows from that of the nearest size that was: a straight line through it and a pass of a few
 * examples, since a pass of small arrays takes long for few of them, too; without such a pass it is in proportion. Threading: confined.
 */
final class StepTimes {
    private static final Logger log = LoggerFactory.getLogger(StepTimes.class);

    /** Goes over an array as long as the parameters, where updaters cannot be timed: division by the batch, updater (three arrays), step. */
    private static final int UPDATE_GOES = 5;

    private static final int TIMINGS = 3;

    private final ToDoubleFunction<PassKind> factor;
    private final ToDoubleFunction<Way> scratchNanos;
    private final int batch;
    private final int smallPart;
    private final OptionalDouble smallNanos;
    private final Map<Integer, Double> plainByPart = new HashMap<>();
    private final Map<Way, Double> measured = new HashMap<>();
    private double goNanos;
    private double updateNanos;

    /**
     * For minibatches of {@code batch}.
     *
     * @param factor time of a pass, as multiple of one that keeps all activations and does nothing else either
     * @param scratchNanos that convolutions over the largest part of a way take longer for its limit on their scratch memory
     * @param smallPart examples of a pass of that kind which took {@code smallNanos}
     */
    StepTimes(
            ToDoubleFunction<PassKind> factor,
            ToDoubleFunction<Way> scratchNanos,
            int batch,
            int smallPart,
            OptionalDouble smallNanos) {
        this.factor = factor;
        this.scratchNanos = scratchNanos;
        this.batch = batch;
        this.smallPart = smallPart;
        this.smallNanos = smallNanos;
    }

    /** Times an update, and one go over {@code gradients}, which are 0 then: frozen layers do not write theirs, and they are subtracted. */
    void measureUpdate(Model model, INDArray gradients) {
        try {
            timeUpdate(model, gradients);
        } finally {
            gradients.assign(0);
        }
    }

    private void timeUpdate(Model model, INDArray gradients) {
        double least = Double.MAX_VALUE;
        for (int i = 0; i < TIMINGS; i++) {
            long begun = System.nanoTime();
            gradients.muli(1);
            Nd4j.getExecutioner().commit();
            least = Math.min(least, (double) (System.nanoTime() - begun));
        }
        goNanos = least;
        updateNanos = UpdateTimes.of(model, gradients).orElse(UPDATE_GOES * goNanos);
        log.debug("An update takes {} ms, one go over the gradients {} ms", updateNanos / 1e6, goNanos / 1e6);
    }

    /** One pass over the largest part of {@code way} took so long. */
    void measured(Way way, double passNanos) {
        int part = way.partOf(batch);
        log.debug("A pass of {} takes {} ms with {} examples", way, passNanos / 1e6, part);
        plainByPart.put(
                part, Math.max(0, passNanos - scratchNanos.applyAsDouble(way)) / factor.applyAsDouble(way.pass()));
        measured.put(way, step(way, passNanos));
    }

    boolean isMeasured(Way way) {
        return measured.containsKey(way);
    }

    /** Nanoseconds of an iteration. */
    double step(Way way) {
        Double known = measured.get(way);
        return known != null
                ? known
                : step(
                        way,
                        plain(way.partOf(batch)) * factor.applyAsDouble(way.pass()) + scratchNanos.applyAsDouble(way));
    }

    private double step(Way way, double passNanos) {
        int parts = way.parts();
        // Parts are nearly equal, so that most have less than the largest.
        double typical = along(way.partOf(batch), passNanos, (double) batch / parts);
        double sums = parts > 1 ? 2.0 * parts * goNanos : 0;
        return parts * typical + sums + updateNanos;
    }

    private double plain(int part) {
        Double known = plainByPart.get(part);
        if (known != null) {
            return known;
        }
        return plainByPart.entrySet().stream()
                .min(Comparator.comparingDouble(its -> distance(its.getKey(), part)))
                .map(its -> along(its.getKey(), its.getValue(), part))
                .orElse(smallNanos.orElse(smallPart) * part / smallPart);
    }

    /** Time of {@code part} on the line that goes through a part of {@code size}; neither its start nor its slope is below 0. */
    private double along(int size, double nanos, double part) {
        if (smallNanos.isEmpty() || size <= smallPart) {
            return nanos * part / size;
        }
        double slope = Math.max(0, Math.min((nanos - smallNanos.getAsDouble()) / (size - smallPart), nanos / size));
        return nanos + slope * (part - size);
    }

    private static double distance(int known, int wanted) {
        return Math.abs(Math.log((double) known / wanted));
    }
}
