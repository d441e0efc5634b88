// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.strategy.step.OwnViews;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;

/**
 * Something that an update does with gradients of one length, on parameters and states of its own. Threading: the training thread.
 */
interface TimedWork extends AutoCloseable {
    /** Elements whose own time is nothing. */
    int FEW = 64;

    /** Arrays that penalties make. */
    String WORKSPACE = "MEMOPT_UPDATE_TIMES";

    void with(INDArray gradient);

    @Override
    void close();

    /** Division by the examples, and the step of the parameters. */
    static TimedWork step(INDArray flat, long length) {
        return new Step(flat, length);
    }

    /** One call of an updater. */
    static TimedWork updater(IUpdater kind, INDArray flat, long length) {
        return Updating.of(kind, flat, length);
    }

    /** Penalties on one array of weights. */
    static TimedWork penalties(List<Regularization> penalties, INDArray flat, long length) {
        return new Penalising(penalties, flat, length);
    }

    /** All blocks of {@code work}. */
    static TimedWork blocks(UpdateWork work, Model model, INDArray flat) {
        return Blocks.of(work, model, flat);
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
    record Blocks(
            List<UpdaterBlock> blocks,
            List<INDArray> states,
            boolean ownViews,
            INDArray parameters,
            MemoryWorkspace arrays)
            implements TimedWork {

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
    record Step(INDArray parameters) implements TimedWork {
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

    record Updating(GradientUpdater<?> updater, INDArray state) implements TimedWork {

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

    record Penalising(
            List<Regularization> penalties,
            INDArray parameters,
            @Nullable MemoryWorkspace arrays) implements TimedWork {
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
