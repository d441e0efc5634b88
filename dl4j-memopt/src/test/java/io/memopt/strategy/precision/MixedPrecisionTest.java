// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.precision;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Mixed precision trains as single precision does, within a few percent of loss, with activations of half the size. */
class MixedPrecisionTest {
    private static final MemOptConfig MIXED =
            MemOptConfig.builder().precision(Precision.MIXED_HALF).build();
    private static final int ITERATIONS = 20;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    /** Half precision with Adam: parameters were NaN after the first update. */
    @Test
    void p15_trainsWithHalfTheWorkspacesAndTheLossOfSinglePrecision() {
        MultiLayerNetwork single = p15(DataType.FLOAT);
        Map<String, Long> plain = train(single, MemOptConfig.defaults());
        MultiLayerNetwork mixed = p15(DataType.FLOAT);
        Map<String, Long> halved = train(mixed, MIXED);

        // Each array takes a multiple of 32 bytes.
        assertThat(halved.get("WS_ALL_LAYERS_ACT")).isLessThan((long) (0.52 * plain.get("WS_ALL_LAYERS_ACT")));
        assertThat(mixed.params().dataType()).isEqualTo(DataType.FLOAT);
        assertThat(mixed.params().isNaN().any()).isFalse();
        assertThat(loss(mixed)).isCloseTo(loss(single), within(0.05 * loss(single)));
        assertThat(loss(mixed)).isLessThan(0.9 * loss(p15(DataType.FLOAT)));
    }

    @Test
    void p15_inHalfPrecision_isRefusedWithTheEpsilonThatUnderflows() {
        MultiLayerNetwork half = p15(DataType.FLOAT16);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(half, MIXED))
                .withMessageContaining("parameters of type HALF, expected FLOAT")
                .withMessageContaining("Adam with epsilon=1.0E-8, which is 0 in HALF");
        try (MemOpt memopt = MemOpt.attach(half)) {
            half.fit(p15Data(0));
            assertThat(memopt.summary().notes()).anyMatch(note -> note.contains("epsilon=1.0E-8"));
        }
        assertThat(half.params().isNaN().any()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LSTM_TEXT", "RESIDUAL_GRAPH"})
    void families_loseAsInSinglePrecision(Networks each) {
        comparesWithSinglePrecision(each);
    }

    @ParameterizedTest
    @Tag("soak")
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "VGG"})
    void largerFamilies_loseAsInSinglePrecision(Networks each) {
        comparesWithSinglePrecision(each);
    }

    private static void comparesWithSinglePrecision(Networks each) {
        List<Double> single = scores(each, MemOptConfig.defaults());
        List<Double> mixed = scores(each, MIXED);

        for (int i = 0; i < single.size(); i++) {
            assertThat(mixed.get(i)).as("iteration %d", i).isCloseTo(single.get(i), within(0.05 * single.get(i)));
        }
        assertThat(mixed).isNotEqualTo(single);
    }

    @Test
    void masks_countAsInSinglePrecision() {
        MultiLayerNetwork single = recurrent();
        MultiLayerNetwork mixed = recurrent();
        DataSet data = masked();
        single.fit(data);
        try (MemOpt memopt = MemOpt.attach(mixed, MIXED)) {
            mixed.fit(data);
        }

        assertThat(mixed.score()).isCloseTo(single.score(), within(0.005 * single.score()));
        assertThat(mixed.gradient()
                        .gradient()
                        .castTo(DataType.FLOAT)
                        .distance2(single.gradient().gradient()))
                .isLessThan(0.02 * single.gradient().gradient().norm2Number().doubleValue());
    }

    @Test
    void meansOfBatchNormalisation_areNotScaled() {
        MultiLayerNetwork single = normalised();
        MultiLayerNetwork mixed = normalised();
        DataSet data = p15Data(1);
        single.fit(data);
        try (MemOpt memopt = MemOpt.attach(mixed, MIXED)) {
            mixed.fit(data);
        }

        for (String statistic : new String[] {"mean", "log10stdev"}) {
            INDArray expected = single.getLayer(1).getParam(statistic);
            assertThat(mixed.getLayer(1).getParam(statistic).distance2(expected))
                    .isLessThan(0.005 * expected.norm2Number().doubleValue());
        }
    }

    @Test
    void gradientsThatAreNoNumbers_leaveTheUpdateOut() {
        MultiLayerNetwork network = p15(DataType.FLOAT);
        List<Integer> heard = new ArrayList<>();
        network.addListeners(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                heard.add(iteration);
            }
        });
        try (MemOpt memopt = MemOpt.attach(network, MIXED)) {
            network.fit(p15Data(0));
            INDArray before = network.params().dup();
            INDArray state = network.getUpdater().getStateViewArray().dup();

            network.fit(
                    new DataSet(p15Data(1).getFeatures().mul(1e6), p15Data(1).getLabels()));

            assertThat(network.params()).isEqualTo(before);
            assertThat(network.getUpdater().getStateViewArray()).isEqualTo(state);
            assertThat(memopt.summary().notes())
                    .anyMatch(note -> note.startsWith("Mixed precision:")
                            && note.contains("scaled by 64")
                            && note.contains("1 of 2 updates left out"));

            network.fit(p15Data(2));
            assertThat(network.params()).isNotEqualTo(before);
        }
        assertThat(heard).containsExactly(0, 1, 2);
        assertThat(network.getIterationCount()).isEqualTo(3);
    }

    @Test
    void checkpointsPartsAndPlans_composeWithIt() {
        MultiLayerNetwork alone = deep(MIXED);
        MultiLayerNetwork checkpointed = deep(MemOptConfig.builder()
                .precision(Precision.MIXED_HALF)
                .activationShare(0)
                .build());
        MultiLayerNetwork parts = deep(MemOptConfig.builder()
                .precision(Precision.MIXED_HALF)
                .microBatch(16)
                .build());

        MultiLayerNetwork planned = deep(MemOptConfig.builder()
                .precision(Precision.MIXED_HALF)
                .reuse(Reuse.PLANNED)
                .build());

        assertThat(checkpointed.params()).isEqualTo(alone.params());
        assertThat(planned.params()).isEqualTo(alone.params());
        assertThat(parts.params()).isNotEqualTo(alone.params());
        assertThat(parts.params().distance2(alone.params()))
                .isLessThan(0.01 * alone.params().norm2Number().doubleValue());
    }

    @Test
    void listeners_hearOfTheNetworkItself() {
        MultiLayerNetwork network = p15(DataType.FLOAT);
        List<Model> forward = new ArrayList<>();
        List<Integer> activations = new ArrayList<>();
        network.addListeners(new BaseTrainingListener() {
            @Override
            public void onForwardPass(Model model, List<INDArray> all) {
                forward.add(model);
                activations.add(all.size());
            }
        });
        try (MemOpt memopt = MemOpt.attach(network, MIXED)) {
            network.fit(p15Data(0));
        }

        assertThat(forward).containsExactly(network);
        assertThat(activations).containsExactly(2);
    }

    @Test
    void whatCannotBeDone_isRefusedWithTheReason() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(p15(DataType.DOUBLE), MIXED))
                .withMessageContaining("type DOUBLE, expected FLOAT");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(
                        init(builder(DataType.FLOAT)
                                .list()
                                .layer(new EmbeddingLayer.Builder()
                                        .nIn(5000)
                                        .nOut(8)
                                        .build())
                                .layer(output(8))),
                        MIXED))
                .withMessageContaining("nIn=5000, expected at most 2048");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(
                        init(builder(DataType.FLOAT)
                                .list()
                                .layer(dense(100, 8))
                                .layer(new CenterLossOutputLayer.Builder(LossFunction.MCXENT)
                                        .nIn(8)
                                        .nOut(10)
                                        .activation(Activation.SOFTMAX)
                                        .build())),
                        MIXED))
                .withMessageContaining("CenterLossOutputLayer");
    }

    // ---- networks and data

    private static MultiLayerNetwork p15(DataType type) {
        return init(builder(type).list().layer(dense(100, 200)).layer(output(200)));
    }

    private static DataSet p15Data(long seed) {
        Random random = new Random(seed);
        float[][] features = new float[64][100];
        float[][] labels = new float[64][10];
        for (int i = 0; i < 64; i++) {
            int label = random.nextInt(10);
            labels[i][label] = 1;
            for (int j = 0; j < 100; j++) {
                features[i][j] = random.nextFloat() + (j % 10 == label ? 0.5f : 0);
            }
        }
        return new DataSet(Nd4j.createFromArray(features), Nd4j.createFromArray(labels));
    }

    private static double loss(MultiLayerNetwork network) {
        return network.score(p15Data(99));
    }

    private static Map<String, Long> train(MultiLayerNetwork network, MemOptConfig config) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            for (int i = 0; i < ITERATIONS; i++) {
                network.fit(p15Data(i));
            }
            return memopt.summary().workspaces().stream()
                    .collect(Collectors.toMap(row -> row.name(), row -> row.reservedBytes()));
        }
    }

    private static List<Double> scores(Networks each, MemOptConfig config) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Model model = each.create(WorkspaceMode.ENABLED);
        Nd4j.getRandom().setSeed(3);
        List<Double> scores = new ArrayList<>();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < 5; i++) {
                Networks.fit(model, each.data(4, i));
                scores.add(model.score());
            }
        }
        return scores;
    }

    private static MultiLayerNetwork deep(MemOptConfig config) {
        MultiLayerNetwork network = init(builder(DataType.FLOAT)
                .list()
                .layer(dense(100, 60))
                .layer(dense(60, 50))
                .layer(dense(50, 40))
                .layer(dense(40, 30))
                .layer(output(30)));
        try (MemOpt memopt = MemOpt.attach(network, config)) {
            for (int i = 0; i < 4; i++) {
                network.fit(p15Data(i));
            }
        }
        return network;
    }

    private static MultiLayerNetwork normalised() {
        return init(builder(DataType.FLOAT)
                .list()
                .layer(dense(100, 20))
                .layer(new BatchNormalization.Builder().nIn(20).nOut(20).build())
                .layer(output(20)));
    }

    private static MultiLayerNetwork recurrent() {
        return init(builder(DataType.FLOAT)
                .list()
                .layer(new LSTM.Builder().nOut(12).activation(Activation.TANH).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(Networks.CLASSES)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.recurrent(8)));
    }

    private static DataSet masked() {
        DataSet data = Networks.sequences(4, 6, 1);
        INDArray mask = Nd4j.ones(4, 6);
        for (int i = 0; i < 4; i++) {
            for (int t = 2 + i; t < 6; t++) {
                mask.putScalar(i, t, 0);
            }
        }
        return new DataSet(data.getFeatures(), data.getLabels(), mask, mask.dup());
    }

    private static NeuralNetConfiguration.Builder builder(DataType type) {
        return new NeuralNetConfiguration.Builder()
                .seed(1)
                .dataType(type)
                .updater(new Adam(1e-3))
                .weightInit(WeightInit.XAVIER);
    }

    private static MultiLayerNetwork init(NeuralNetConfiguration.ListBuilder list) {
        MultiLayerNetwork network = new MultiLayerNetwork(list.build());
        network.init();
        return network;
    }

    private static DenseLayer dense(int in, int out) {
        return new DenseLayer.Builder()
                .nIn(in)
                .nOut(out)
                .activation(Activation.RELU)
                .build();
    }

    private static OutputLayer output(int in) {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nIn(in)
                .nOut(10)
                .activation(Activation.SOFTMAX)
                .build();
    }
}
