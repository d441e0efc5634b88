// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import static io.memopt.verify.MemoryAssertions.assertThatMemory;

import io.memopt.MemOpt;
import io.memopt.verify.TwinRun;
import java.nio.file.Path;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Tests to copy: what a network of yours may take, held in CI like any other promise. After a change that is meant to take
 * more, write the baseline anew by {@code -Dmemopt.updateBaselines=true}, look at the difference, and commit it.
 */
class NetworkMemoryTest {
    private static final Path BASELINE = Path.of("src/test/memory/network.json");
    private static final int BATCH = 16;

    @Test
    void training_staysWithinItsMemory() {
        assertThatMemory(network())
                .whileFitting(new ListDataSetIterator<>(images(4 * BATCH).asList(), BATCH), 20)
                .peakBelow("16 MiB")
                .hasNoGrowthOver("1 KiB")
                .leavesNoGarbageOver("1 KiB")
                .makesNoDriverAllocationsAfterWarmup()
                .regressesNoMoreThan("5 %", BASELINE);
    }

    @Test
    void serving_leavesNothingToTheCollector() {
        MultiLayerNetwork network = network();
        INDArray images = images(BATCH).getFeatures();

        assertThatMemory(network)
                .whileRunning(
                        () -> {
                            try (MemoryWorkspace results =
                                    Nd4j.getWorkspaceManager().getAndActivateWorkspace("RESULTS")) {
                                network.output(images, false, results);
                            }
                        },
                        20)
                .hasNoGrowthOver("0 B")
                .leavesNoGarbageOver("1 KiB");
    }

    @Test
    void observation_changesNoBit() {
        TwinRun.of(NetworkMemoryTest::network, iteration -> images(BATCH))
                .iterations(5)
                .compare(MemOpt::attach)
                .requireBitwise();
    }

    private static MultiLayerNetwork network() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Adam(1e-3))
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3)
                        .nOut(8)
                        .activation(Activation.RELU)
                        .build())
                .layer(new SubsamplingLayer.Builder()
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(10)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.convolutional(32, 32, 3))
                .build());
        network.init();
        return network;
    }

    /** Images {@code [count, 3, 32, 32]} of nothing, all of the first class. */
    private static DataSet images(int count) {
        INDArray labels = Nd4j.zeros(count, 10);
        labels.getColumn(0).assign(1);
        return new DataSet(Nd4j.linspace(0, 1, (long) count * 3 * 32 * 32).reshape(count, 3, 32, 32), labels);
    }
}
