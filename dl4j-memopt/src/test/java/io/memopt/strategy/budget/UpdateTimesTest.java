// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;

class UpdateTimesTest {

    /** Two numbers of each call of a penalty, which is timed on 50 weights or more at once. */
    private static final long SCALAR_BYTES = 2 * Float.BYTES * (16 + 16 + 16 * 8);

    private static final int PAIRS = 15;

    static IUpdater[] updaters() {
        return new IUpdater[] {
            new Sgd(0.1),
            new Nesterovs(0.1, 0.9),
            new Adam(1e-3),
            new AdaMax(1e-3),
            new AMSGrad(1e-3),
            new Nadam(1e-3),
            new AdaGrad(1e-2),
            new AdaDelta(),
            new RmsProp(1e-3),
            new NoOp()
        };
    }

    @ParameterizedTest
    @MethodSource("updaters")
    void update_isTimed_andChangesNeitherParametersNorState(IUpdater updater) {
        MultiLayerNetwork network = trained(updater);
        INDArray parameters = network.params().dup();
        INDArray state = network.getUpdater().getStateViewArray();
        INDArray before = state == null ? null : state.dup();

        assertThat(UpdateTimes.of(network, network.getGradientsViewArray()).orElseThrow())
                .isPositive();

        assertThat(network.params()).isEqualTo(parameters);
        assertThat(network.getUpdater().getStateViewArray()).isEqualTo(before);
        assertThat(Nd4j.getWorkspaceManager().checkIfWorkspaceExists(TimedWork.WORKSPACE))
                .isFalse();
    }

    /** Layers within layers, and those that do not learn. */
    @Test
    void wrappedAndFrozenLayers_areTimed() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .updater(new Adam(1e-3))
                .l2(1e-3)
                .list()
                .layer(new FrozenLayer(new DenseLayer.Builder().nIn(5).nOut(4).build()))
                .layer(new Bidirectional(new LSTM.Builder().nIn(4).nOut(3).build()))
                .layer(new LastTimeStep(new LSTM.Builder().nIn(6).nOut(3).build()))
                .layer(new OutputLayer.Builder()
                        .nIn(3)
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.recurrent(5))
                .build());
        network.init();
        network.fit(new DataSet(Nd4j.rand(2, 5, 4), Nd4j.ones(2, 3).divi(3)));
        UpdateWork work = UpdateWork.of(network, network.getGradientsViewArray(), 64);

        assertThat(work.updaters().values().stream().mapToLong(its -> its).sum())
                .isEqualTo(network.numParams());
        assertThat(work.blocks()).hasSameSizeAs(((BaseMultiLayerUpdater<?>) network.getUpdater()).getUpdaterBlocks());
        assertThat(UpdateTimes.of(network, network.getGradientsViewArray())).isPresent();
    }

    /** Its penalty makes an array, which an update of plain training has in a workspace. */
    @Test
    void penaltyThatMakesArrays_leavesNoneToTheCollector() {
        MultiLayerNetwork network = trained(new Sgd(0.1));
        MemoryLedger ledger = MemoryHooks.install().ledger();
        try {
            long before = ledger.reservedBytes(MemorySpace.HOST);

            assertThat(UpdateTimes.of(network, network.getGradientsViewArray())).isPresent();

            assertThat(ledger.reservedBytes(MemorySpace.HOST)).isLessThan(before + SCALAR_BYTES);
        } finally {
            MemoryHooks.uninstall();
        }
    }

    @Test
    void updaterThatDoesNotWork_isNotTimed() {
        MultiLayerNetwork network = trained(new Sgd(0.1));
        IUpdater broken = new Sgd(0.1) {
            @Override
            public GradientUpdater<?> instantiate(INDArray view, boolean initialize) {
                throw new IllegalArgumentException("not on a part");
            }
        };
        ((DenseLayer) network.getLayer(0).conf().getLayer()).setIUpdater(broken);

        assertThat(UpdateTimes.of(network, network.getGradientsViewArray())).isEmpty();
    }

    /** Batch normalisation's statistics have an updater of their own, so that every layer is two blocks. */
    @Test
    void updateOfManySmallParameters_takesTheTimeOfItsCalls() {
        NeuralNetConfiguration.ListBuilder layers = new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Adam(1e-3))
                .l2(1e-3)
                .list();
        for (int i = 0; i < 40; i++) {
            layers.layer(new DenseLayer.Builder().nOut(8).build()).layer(new BatchNormalization());
        }
        MultiLayerNetwork deep = trained(layers, 8);
        Gradient gradient = deep.gradient();
        LayerWorkspaceMgr workspaces = LayerWorkspaceMgr.noWorkspaces();
        List<Long> actual = new ArrayList<>();
        List<Double> told = new ArrayList<>();
        for (int i = 0; i < PAIRS; i++) {
            long begun = System.nanoTime();
            deep.getUpdater().update(deep, gradient, i, 0, 4, workspaces);
            deep.params()
                    .subi(deep.getGradientsViewArray().reshape(deep.params().shape()));
            actual.add(System.nanoTime() - begun);
            told.add(UpdateTimes.of(deep, deep.getGradientsViewArray()).orElseThrow());
        }
        double leastActual = Collections.min(actual); // other work of the machine only adds to it

        assertThat(Collections.min(told)).isBetween(leastActual / 3, leastActual * 3);
    }

    private static MultiLayerNetwork trained(IUpdater updater) {
        NeuralNetConfiguration.ListBuilder layers = new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(updater)
                .l1(1e-4)
                .l2(1e-3)
                .list()
                .layer(new DenseLayer.Builder().nOut(40).build())
                .layer(new BatchNormalization());
        return trained(layers, 20);
    }

    private static MultiLayerNetwork trained(NeuralNetConfiguration.ListBuilder layers, int inputs) {
        MultiLayerNetwork network = new MultiLayerNetwork(layers.layer(new OutputLayer.Builder()
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.feedForward(inputs))
                .build());
        network.init();
        network.fit(new DataSet(Nd4j.rand(4, inputs), Nd4j.ones(4, 3).divi(3)));
        return network;
    }
}
