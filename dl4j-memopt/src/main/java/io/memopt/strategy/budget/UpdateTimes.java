// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.LongFunction;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How long an update of a network's parameters takes: what its blocks take in Deeplearning4j, in views, calls and workspaces, whatever
 * they have of elements, which on a GPU and in deep networks is most of it; and what updaters and penalties take for each element.
 *
 * <pre>
 *   update = blocks of few elements + sum over updaters and penalties of elements * (time of a share - time of few) / (share - few)
 * </pre>
 *
 * All with states of their own. Gradients are written over, parameters and the network's updater state are not touched.
 *
 * <p>Threading: the training thread.
 */
final class UpdateTimes {
    private static final Logger log = LoggerFactory.getLogger(UpdateTimes.class);

    /** Of the elements, one in so many is timed, so that this takes less memory than passes do. */
    private static final int SHARE = 16;

    private static final int TIMINGS = 16;

    /** The same is timed until it took so long together: 0.15 seconds. */
    private static final long TIMING_NANOS = 150_000_000L;

    private UpdateTimes() {}

    /** Nanoseconds of one update; empty when an updater of the user's does not work on a part of the parameters. */
    static OptionalDouble of(Model model, INDArray gradients) {
        INDArray flat = gradients.reshape(1, gradients.length());
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            UpdateWork work = UpdateWork.of(model, gradients, TimedWork.FEW);
            double nanos = typical(TimedWork.blocks(work, model, flat), Collections.nCopies(TIMINGS, flat));
            nanos += elements(flat, flat.length(), length -> TimedWork.step(flat, length));
            for (Map.Entry<IUpdater, Long> each : work.updaters().entrySet()) {
                nanos += elements(flat, each.getValue(), length -> TimedWork.updater(each.getKey(), flat, length));
            }
            for (Map.Entry<List<Regularization>, Long> each : work.penalties().entrySet()) {
                nanos += elements(flat, each.getValue(), length -> TimedWork.penalties(each.getKey(), flat, length));
            }
            return OptionalDouble.of(nanos);
        } catch (RuntimeException e) {
            log.debug("Updates of {} cannot be timed.", model.getClass(), e);
            return OptionalDouble.empty();
        }
    }

    /** Nanoseconds that so many elements take beyond what a call takes in itself. */
    private static double elements(INDArray flat, long elements, LongFunction<TimedWork> work) {
        long some = Math.max(1, elements / SHARE);
        if (some <= TimedWork.FEW) {
            return 0;
        }
        List<INDArray> fewElements = parts(flat, TimedWork.FEW);
        List<INDArray> someElements = parts(flat, some);
        double small = typical(work.apply(TimedWork.FEW), fewElements);
        double large = typical(work.apply(some), someElements);
        return Math.max(0, large - small) / (some - TimedWork.FEW) * elements;
    }

    /** Different ones, since how long an updater takes depends on the numbers that it finds, and it writes over them. */
    private static List<INDArray> parts(INDArray flat, long length) {
        List<INDArray> parts = new ArrayList<>();
        for (long from = 0; parts.size() < TIMINGS && from + length <= flat.length(); from += length) {
            parts.add(flat.get(NDArrayIndex.all(), NDArrayIndex.interval(from, from + length)));
        }
        return parts;
    }

    /** Median nanoseconds of work with one of {@code gradients}, as many as there is time for; closes the work. */
    private static double typical(TimedWork work, List<INDArray> gradients) {
        try (work) {
            List<Long> nanos = new ArrayList<>();
            long all = System.nanoTime();
            for (INDArray gradient : gradients) {
                long begun = System.nanoTime();
                work.with(gradient);
                Nd4j.getExecutioner().commit();
                nanos.add(System.nanoTime() - begun);
                if (System.nanoTime() - all > TIMING_NANOS) {
                    break;
                }
            }
            nanos.sort(null);
            return nanos.get(nanos.size() / 2);
        }
    }
}
