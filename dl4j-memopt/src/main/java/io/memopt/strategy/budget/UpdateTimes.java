// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.strategy.step.OwnViews;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.LongFunction;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;
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
    /** Elements whose own time is nothing. */
    private static final int FEW = 64;

    private static final int TIMINGS = 16;

    /** The same is timed until it took so long together: 0.15 seconds. */
    private static final long TIMING_NANOS = 150_000_000L;

    /** Arrays that penalties make. */
    static final String WORKSPACE = "MEMOPT_UPDATE_TIMES";

    private UpdateTimes() {}

    /** Something that an update does with gradients of one length. */
    private interface Work extends AutoCloseable {
        void with(INDArray gradient);

        @Override
        void close();
    }

    /** Nanoseconds of one update; empty when an updater of the user's does not work on a part of the parameters. */
    static OptionalDouble of(Model model, INDArray gradients) {
        INDArray flat = gradients.reshape(1, gradients.length());
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            UpdateWork work = UpdateWork.of(model, gradients, FEW);
            double nanos = typical(Blocks.of(work, model, flat), Collections.nCopies(TIMINGS, flat));
            nanos += elements(flat, flat.length(), length -> new Step(flat, length));
            for (Map.Entry<IUpdater, Long> each : work.updaters().entrySet()) {
                nanos += elements(flat, each.getValue(), length -> Updating.of(each.getKey(), flat, length));
            }
            for (Map.Entry<List<Regularization>, Long> each : work.penalties().entrySet()) {
                nanos += elements(flat, each.getValue(), length -> new Penalising(each.getKey(), flat, length));
            }
            return OptionalDouble.of(nanos);
        } catch (RuntimeException e) {
            log.debug("Updates of {} cannot be timed.", model.getClass(), e);
            return OptionalDouble.empty();
        }
    }

    /** Nanoseconds that so many elements take beyond what a call takes in itself. */
    private static double elements(INDArray flat, long elements, LongFunction<Work> work) {
        long some = Math.max(1, elements / SHARE);
        if (some <= FEW) {
            return 0;
        }
        double large = typical(work.apply(some), parts(flat, some));
        double small = typical(work.apply(FEW), parts(flat, FEW));
        return Math.max(0, large - small) / (some - FEW) * elements;
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
    private static double typical(Work work, List<INDArray> gradients) {
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

    private static MemoryWorkspace workspace(INDArray flat, long length) {
        return Nd4j.getWorkspaceManager()
                .createNewWorkspace(
                        WorkspaceConfiguration.builder()
                                .initialSize(length * flat.dataType().width())
                                .policyLearning(LearningPolicy.NONE)
                                .build(),
                        WORKSPACE);
    }

    @SuppressWarnings("NullAway") // Updaters without a state are given none.
    private static GradientUpdater<?> instantiate(IUpdater kind, @Nullable INDArray state) {
        return kind.instantiate(state, state != null);
    }

    private static INDArray zeros(INDArray flat, long length) {
        return Nd4j.zeros(flat.dataType(), 1, length);
    }

    /** All blocks, each in a scope as an update has them; their gradients are views. */
    private record Blocks(
            List<UpdaterBlock> blocks,
            List<INDArray> states,
            boolean ownViews,
            INDArray parameters,
            MemoryWorkspace arrays)
            implements Work {

        static Blocks of(UpdateWork work, Model model, INDArray flat) {
            List<INDArray> states = new ArrayList<>();
            try {
                List<UpdaterBlock> blocks = work.blocks();
                blocks.forEach(block -> states.add(ready(block, flat)));
                return new Blocks(
                        blocks,
                        states,
                        OwnViews.areUsed(model),
                        model.params().reshape(1, flat.length()),
                        workspace(flat, 2L * FEW));
            } catch (RuntimeException e) {
                states.forEach(INDArray::close);
                throw e;
            }
        }

        private static INDArray ready(UpdaterBlock block, INDArray flat) {
            UpdaterBlock.ParamState first = block.getLayersAndVariablesInBlock().get(0);
            IUpdater updater = first.getLayer().getConfig().getUpdaterByParam(first.getParamName());
            long length = (long) block.getParamOffsetEnd() - block.getParamOffsetStart();
            long stateSize = updater.stateSize(length);
            INDArray state = zeros(flat, Math.max(1, stateSize));
            block.setGradientUpdater(instantiate(updater, stateSize == 0 ? null : state));
            return state;
        }

        @Override
        public void with(INDArray gradient) {
            for (UpdaterBlock block : blocks) {
                try (MemoryWorkspace scope = arrays.notifyScopeEntered()) {
                    if (ownViews) {
                        block.update(0, 0);
                    } else {
                        block.updateExternalGradient(0, 0, gradient, parameters);
                    }
                }
            }
        }

        @Override
        public void close() {
            states.forEach(INDArray::close);
            Nd4j.getWorkspaceManager().destroyWorkspace(arrays);
        }
    }

    /** Gradients are divided by the examples, and taken from the parameters. */
    private record Step(INDArray parameters) implements Work {
        Step(INDArray flat, long length) {
            this(zeros(flat, length));
        }

        @Override
        public void with(INDArray gradient) {
            gradient.divi(1);
            parameters.subi(gradient);
        }

        @Override
        public void close() {
            parameters.close();
        }
    }

    private record Updating(GradientUpdater<?> updater, INDArray state) implements Work {

        static Updating of(IUpdater kind, INDArray flat, long length) {
            long stateSize = kind.stateSize(length);
            INDArray state = zeros(flat, Math.max(1, stateSize));
            try {
                return new Updating(instantiate(kind, stateSize == 0 ? null : state), state);
            } catch (RuntimeException e) {
                state.close();
                throw e;
            }
        }

        @Override
        public void with(INDArray gradient) {
            updater.applyUpdater(gradient, 0, 0);
        }

        @Override
        public void close() {
            state.close();
        }
    }

    private record Penalising(
            List<Regularization> penalties,
            INDArray parameters,
            @Nullable MemoryWorkspace arrays) implements Work {
        Penalising(List<Regularization> penalties, INDArray flat, long length) {
            this(
                    penalties,
                    zeros(flat, length),
                    penalties.stream().allMatch(Penalising::isInPlace) ? null : workspace(flat, length));
        }

        private static boolean isInPlace(Regularization penalty) {
            return penalty instanceof L2Regularization || penalty instanceof WeightDecay;
        }

        @Override
        public void with(INDArray gradient) {
            if (arrays == null) {
                penalise(gradient);
            } else {
                try (MemoryWorkspace scope = arrays.notifyScopeEntered()) {
                    penalise(gradient);
                }
            }
        }

        private void penalise(INDArray gradient) {
            penalties.forEach(penalty -> penalty.apply(parameters, gradient, 1, 0, 0));
        }

        @Override
        public void close() {
            parameters.close();
            if (arrays != null) {
                Nd4j.getWorkspaceManager().destroyWorkspace(arrays);
            }
        }
    }
}
