// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.report.MemorySummary;
import io.memopt.testing.Networks;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.ResetPolicy;
import org.nd4j.linalg.api.memory.enums.SpillPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.AsyncDataSetIterator;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Runs the cases that users met, small, and records their traces. Each leaves ND4J without hooks. */
final class CaseTraces {
    /** A case: what runs while the network is observed. */
    @FunctionalInterface
    interface Run {
        void run() throws Exception;
    }

    private CaseTraces() {}

    static Path record(Path file, Model model, Run run) throws Exception {
        try (MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().trace(file).build())) {
            run.run();
        } finally {
            MemoryHooks.uninstall();
        }
        return file;
    }

    static Path training(Path file, Networks family, int batch, int iterations) throws Exception {
        Model model = family.create(WorkspaceMode.ENABLED);
        return record(file, model, () -> {
            for (int i = 0; i < iterations; i++) {
                Networks.fit(model, family.data(batch, i));
            }
        });
    }

    /**
     * P1: results of output() pile up until the collector comes by.
     *
     * @param block size of a workspace for the results, 0 for none
     */
    static Path detachedOutputs(Path file, int calls, long block) throws Exception {
        MultiLayerNetwork network = mlp(64, 128, 2000);
        INDArray input = Nd4j.rand(256, 64);
        WorkspaceConfiguration configuration = WorkspaceConfiguration.builder()
                .initialSize(block)
                .policyLearning(LearningPolicy.FIRST_LOOP)
                .policyAllocation(AllocationPolicy.STRICT)
                .build();
        // Dropped results pile up until the collector runs; kept ones do whenever it runs.
        List<INDArray> kept = new ArrayList<>();
        try {
            return record(file, network, () -> {
                for (int i = 0; i < calls; i++) {
                    if (block == 0) {
                        kept.add(network.output(input));
                    } else {
                        try (MemoryWorkspace results =
                                Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, "RESULTS")) {
                            network.output(input, false, results);
                        }
                    }
                }
            });
        } finally {
            Reference.reachabilityFence(kept);
        }
    }

    /**
     * P3: sequences of many lengths, in random order.
     *
     * @param sizes workspaces to make beforehand, by name
     */
    static Path sequences(Path file, MultiLayerNetwork network, Map<String, Long> sizes) throws Exception {
        Random random = new Random(1);
        // Kept to the end, so that when the collector runs has no say in the peak.
        List<DataSet> data = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            int steps = 10 + random.nextInt(91);
            data.add(new DataSet(Nd4j.rand(16, 8, steps), Nd4j.rand(16, 2, steps)));
        }
        return record(file, network, () -> {
            sizes.forEach((name, bytes) -> Nd4j.getWorkspaceManager()
                    .createNewWorkspace(
                            WorkspaceConfiguration.builder()
                                    .initialSize(bytes)
                                    .policyLearning(LearningPolicy.NONE)
                                    .policyAllocation(AllocationPolicy.STRICT)
                                    .policySpill(SpillPolicy.REALLOCATE)
                                    .policyReset(ResetPolicy.BLOCK_LEFT)
                                    .build(),
                            name));
            data.forEach(network::fit);
        });
    }

    /**
     * P5: each thread of a pool has workspaces of its own though only one works at a time.
     *
     * @param destroy whether each thread destroys them when it is done
     */
    static Path servingThreads(Path file, int threads, boolean destroy) throws Exception {
        MultiLayerNetwork network = cnn(48, 5);
        INDArray input = Nd4j.rand(8, 3, 48, 48);
        Object lock = new Object();
        return record(file, network, () -> {
            ExecutorService pool = Executors.newFixedThreadPool(threads);
            CountDownLatch started = new CountDownLatch(threads);
            List<Future<?>> done = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                done.add(pool.submit(() -> {
                    started.countDown();
                    started.await();
                    synchronized (lock) {
                        for (int call = 0; call < 3; call++) {
                            network.output(input);
                        }
                        if (destroy) {
                            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> future : done) {
                future.get();
            }
            pool.shutdown();
        });
    }

    /** P9: iterators that are read once and dropped, or shut down. */
    static Path prefetchers(Path file, int iterators, boolean shutdown) throws Exception {
        MultiLayerNetwork network = mlp(200, 16, 4);
        DataSet half = new DataSet(Nd4j.rand(500, 200), Nd4j.rand(500, 4));
        List<AsyncDataSetIterator> kept = new ArrayList<>();
        try (MemOpt memopt =
                MemOpt.attach(network, MemOptConfig.builder().trace(file).build())) {
            for (int i = 0; i < iterators; i++) {
                // Each batch is made when it is asked for, of two halves that are merged: it lies in the ring buffer.
                AsyncDataSetIterator iterator =
                        new AsyncDataSetIterator(new ListDataSetIterator<>(Collections.nCopies(100, half), 2), 8, true);
                long before = rings(memopt);
                if (iterator.hasNext()) {
                    network.fit(iterator.next());
                }
                until(() -> rings(memopt) > before);
                if (shutdown) {
                    iterator.shutdown();
                    until(() -> rings(memopt) == 0);
                } else {
                    kept.add(iterator);
                }
            }
        } finally {
            kept.forEach(AsyncDataSetIterator::shutdown);
            MemoryHooks.uninstall();
        }
        return file;
    }

    private static long rings(MemOpt memopt) {
        return memopt.summary().workspaces().stream()
                .filter(row -> row.name().startsWith("ADSI"))
                .mapToLong(MemorySummary.WorkspaceRow::reservedBytes)
                .sum();
    }

    private static void until(BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean() && System.nanoTime() < end) {
            System.gc();
            Thread.onSpinWait();
        }
    }

    static MultiLayerNetwork lstm() {
        return init(new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Sgd(0.01))
                .list()
                .layer(new LSTM.Builder()
                        .nIn(8)
                        .nOut(16)
                        .activation(Activation.TANH)
                        .build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nIn(16)
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .build()));
    }

    private static MultiLayerNetwork mlp(int in, int hidden, int out) {
        return init(new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Sgd(0.01))
                .list()
                .layer(dense(in, hidden))
                .layer(dense(hidden, hidden))
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nIn(hidden)
                        .nOut(out)
                        .activation(Activation.SOFTMAX)
                        .build()));
    }

    private static MultiLayerNetwork cnn(int size, int kernel) {
        return init(new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Sgd(0.01))
                .list()
                .layer(convolution(kernel))
                .layer(convolution(kernel))
                .layer(new SubsamplingLayer.Builder()
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(10)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.convolutional(size, size, 3)));
    }

    private static ConvolutionLayer convolution(int kernel) {
        return new ConvolutionLayer.Builder()
                .kernelSize(kernel, kernel)
                .nOut(8)
                .activation(Activation.RELU)
                .build();
    }

    private static DenseLayer dense(int in, int out) {
        return new DenseLayer.Builder()
                .nIn(in)
                .nOut(out)
                .activation(Activation.TANH)
                .build();
    }

    private static MultiLayerNetwork init(NeuralNetConfiguration.ListBuilder list) {
        MultiLayerNetwork network = new MultiLayerNetwork(list.build());
        network.init();
        return network;
    }
}
