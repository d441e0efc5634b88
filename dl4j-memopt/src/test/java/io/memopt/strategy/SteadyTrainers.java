// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.factory.TrainerContext;
import org.deeplearning4j.parallelism.trainer.DefaultTrainer;
import org.deeplearning4j.parallelism.trainer.Trainer;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Trainers of a ParallelWrapper whose two plain runs are equal. The wrapper's own are not: one thread trains while another
 * still copies its parameters, and each thread has its own, unseeded random generator.
 */
final class SteadyTrainers implements TrainerContext {
    private final CyclicBarrier ready;

    SteadyTrainers(int workers) {
        this.ready = new CyclicBarrier(workers);
    }

    @Override
    public void init(Model model, Object... arguments) {}

    @Override
    public Trainer create(
            String uuid,
            int worker,
            Model model,
            int rootDevice,
            boolean useMultiDataSets,
            ParallelWrapper wrapper,
            WorkspaceMode mode,
            int averagingFrequency) {
        return new SteadyTrainer(uuid, worker, model, useMultiDataSets, wrapper, mode, averagingFrequency);
    }

    @Override
    public void finalizeRound(Model original, Model... models) {}

    @Override
    public void finalizeTraining(Model original, Model... models) {}

    private final class SteadyTrainer extends DefaultTrainer {
        private SteadyTrainer(
                String uuid,
                int worker,
                Model model,
                boolean useMultiDataSets,
                ParallelWrapper wrapper,
                WorkspaceMode mode,
                int averagingFrequency) {
            this.uuid = uuid + "_" + worker;
            this.threadId = worker;
            this.originalModel = model;
            this.replicatedModel = model;
            this.useMDS = useMultiDataSets;
            this.parallelWrapper = wrapper;
            this.workspaceMode = mode;
            this.averagingFrequency = averagingFrequency;
            // Its queue and counter: else both threads make them, and one waits for the wrong ones.
            setupIfNeccessary();
        }

        /** Called when the copy is made and before the first minibatch is taken. */
        @Override
        protected void postInit() {
            super.postInit();
            Nd4j.getRandom().setSeed(100 + threadId);
            try {
                ready.await(1, TimeUnit.MINUTES);
            } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
                throw new IllegalStateException("worker " + threadId + " waited in vain for the others", e);
            }
        }
    }
}
