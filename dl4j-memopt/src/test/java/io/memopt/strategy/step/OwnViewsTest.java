// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import static io.memopt.testing.Bits.bits;
import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

class OwnViewsTest {
    private static final int ITERATIONS = 4;
    private static final int BATCH = 4;
    private static final int IN = 7;
    private static final int OUT = 3;

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "RESIDUAL_GRAPH", "LSTM_TEXT"})
    void fit_isEqualBitForBit(Networks family) {
        int[] expected = train(family, false);
        assertThat(train(family, true)).isEqualTo(expected);
    }

    /** L1, L2 and weight decay apply to parts of blocks; statistics of a normalisation split them. */
    @Test
    void fit_withRegularization_isEqualBitForBit_andMakesNoViews() {
        MultiLayerNetwork expected = regularized();
        MultiLayerNetwork actual = regularized();
        actual.setParams(expected.params().dup());
        assertThat(OwnViews.use(actual)).isGreaterThan(2);

        for (int i = 0; i < ITERATIONS; i++) {
            expected.fit(data(i));
            actual.fit(data(i));
        }

        assertThat(bits(actual.params())).isEqualTo(bits(expected.params()));
        assertThat(bits(actual.getUpdater().getStateViewArray()))
                .isEqualTo(bits(expected.getUpdater().getStateViewArray()));
        INDArray gradient = new DefaultGradient(actual.getFlattenedGradients()).gradient();
        assertThat(blocks(actual)).allMatch(block -> ((OwnViewsBlock) block).isOwn(gradient, actual.params()));
        assertThat(blocks(actual)).noneMatch(block -> ((OwnViewsBlock) block).isOwn(gradient.dup(), actual.params()));
        assertThat(blocks(actual))
                .noneMatch(block ->
                        ((OwnViewsBlock) block).isOwn(gradient, actual.params().dup()));
    }

    /** As where one network computes the gradient and another learns from it. */
    @Test
    void update_byAnotherNetworksGradient_isEqualBitForBit() {
        MultiLayerNetwork teacher = regularized();
        teacher.fit(data(0));
        Gradient gradient = new DefaultGradient(teacher.getFlattenedGradients().dup());
        teacher.gradient().gradientForVariable().forEach(gradient::setGradientFor);
        MultiLayerNetwork expected = regularized();
        MultiLayerNetwork actual = regularized();
        actual.setParams(expected.params().dup());
        OwnViews.use(actual);

        INDArray[] results = new INDArray[2];
        MultiLayerNetwork[] both = {expected, actual};
        for (int i = 0; i < both.length; i++) {
            Gradient copy = new DefaultGradient(gradient.gradient().dup());
            gradient.gradientForVariable().forEach(copy::setGradientFor);
            both[i].getUpdater(true).update(both[i], copy, 0, 0, BATCH, LayerWorkspaceMgr.noWorkspaces());
            results[i] = copy.gradient();
        }

        assertThat(bits(results[1])).isEqualTo(bits(results[0]));
        assertThat(bits(results[1])).isNotEqualTo(bits(gradient.gradient()));
    }

    @Test
    void end_givesThePlainBlocksBackWithTheirState() {
        MultiLayerNetwork expected = regularized();
        MultiLayerNetwork actual = regularized();
        actual.setParams(expected.params().dup());
        OwnViews.use(actual);
        expected.fit(data(0));
        actual.fit(data(0));
        OwnViews.end(actual);

        assertThat(blocks(actual)).allMatch(block -> block.getClass() == UpdaterBlock.class);
        expected.fit(data(1));
        actual.fit(data(1));
        assertThat(bits(actual.params())).isEqualTo(bits(expected.params()));
    }

    /** Attached before the network has an updater, beside plans whose proof runs a pass twice. */
    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "RESIDUAL_GRAPH", "VGG"})
    void option_isEqualBitForBit_andDetachTakesItBack(Networks family) {
        int[] expected = train(family, false);

        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        MemOptConfig config =
                MemOptConfig.builder().ownViews(true).reuse(Reuse.PLANNED).build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, family.data(BATCH, i));
                assertThat(OwnViews.isWanting(model)).isFalse();
            }
            assertThat(memopt.plans())
                    .isNotEmpty()
                    .allMatch(plan -> plan.state().equals("TRUSTED"));
        } finally {
            MemoryHooks.uninstall();
        }

        assertThat(bits(model.params())).isEqualTo(expected);
        assertThat(OwnViews.isWanting(model)).isTrue();
    }

    private static Iterable<UpdaterBlock> blocks(MultiLayerNetwork network) {
        return ((BaseMultiLayerUpdater<?>) network.getUpdater()).getUpdaterBlocks();
    }

    private static int[] train(Networks family, boolean ownViews) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        if (ownViews) {
            OwnViews.use(model);
        }
        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(model, family.data(BATCH, i));
        }
        return bits(model.params());
    }

    private static MultiLayerNetwork regularized() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(3)
                .optimizationAlgo(OptimizationAlgorithm.STOCHASTIC_GRADIENT_DESCENT)
                .updater(new RmsProp(0.1, 0.96, 0.001))
                .l1(1e-3)
                .l2(5e-3)
                .list()
                .layer(new DenseLayer.Builder()
                        .nIn(IN)
                        .nOut(6)
                        .activation(Activation.TANH)
                        .build())
                .layer(new BatchNormalization.Builder().nIn(6).nOut(6).build())
                .layer(new DenseLayer.Builder()
                        .nIn(6)
                        .nOut(5)
                        .weightDecay(0.01)
                        .activation(Activation.TANH)
                        .build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nIn(5)
                        .nOut(OUT)
                        .activation(Activation.SOFTMAX)
                        .build())
                .build());
        network.init();
        return network;
    }

    private static DataSet data(long seed) {
        return new DataSet(
                Nd4j.rand(seed + 1, new long[] {BATCH, IN}), Nd4j.eye(OUT).getRows(0, 1, 2, 0));
    }
}
