// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import static io.memopt.testing.Bits.bits;
import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.strategy.NetworkAccess;
import io.memopt.testing.Networks;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class JoinedStatisticsTest {
    private static final int ITERATIONS = 3;
    private static final int BATCH = 4;

    private final HostEngine engine = new HostEngine();
    private final CudnnLayers joined = CudnnLayers.on(engine, Convolutions.CUDNN);
    private final CudnnLayers apart = CudnnLayers.on(engine, Convolutions.CUDNN.withJoinStatistics(false));

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"VGG", "RESIDUAL_GRAPH"})
    void fit_ofWholeNetworks_isEqualBitForBit(Networks family) {
        int[] expected = train(family, apart);
        assertThat(engine.copies).isZero();

        int[] actual = train(family, joined);

        assertThat(actual).isEqualTo(expected);
        assertThat(engine.copies)
                .isEqualTo(4 * ITERATIONS * normalizations(family.create(WorkspaceMode.ENABLED)))
                .isPositive();
    }

    @ParameterizedTest
    @EnumSource(
            value = LayerCases.class,
            names = {"SAME", "CHANNELS_LAST"})
    void fitAndOutput_withLayersOfImagesAndOfVectors_areEqualBitForBit(LayerCases kind) {
        Model expected = kind.create();
        Model actual = kind.create();
        apart.attach(expected);
        joined.attach(actual);

        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(expected, kind.data(BATCH, i));
            Networks.fit(actual, kind.data(BATCH, i));
            INDArray x = kind.data(BATCH, 50 + i).getFeatures();
            assertThat(bits(((MultiLayerNetwork) actual).output(x)))
                    .isEqualTo(bits(((MultiLayerNetwork) expected).output(x)));
        }

        assertThat(bits(actual.params())).isEqualTo(bits(expected.params()));
        assertThat(engine.copies).isEqualTo(4 * ITERATIONS);
    }

    /** Segments are computed forward again amid the backward pass. */
    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"VGG", "RESIDUAL_GRAPH"})
    void fit_withFewerActivations_isEqualBitForBit(Networks family) {
        MemOptConfig fewer = MemOptConfig.builder().activationShare(0.5).build();
        assertThat(train(family, joined, fewer)).isEqualTo(train(family, apart, fewer));
        assertThat(engine.copies).isPositive();
    }

    @Test
    void attach_standsInForLayers_andDetachGivesThemBack() {
        Model model = Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        List<Layer> before = List.of(NetworkAccess.layers(model).clone());
        joined.attach(model);
        Networks.fit(model, Networks.RESIDUAL_GRAPH.data(BATCH, 0));

        assertThat(NetworkAccess.layers(model)).anyMatch(EngineBatchNormalization.class::isInstance);
        joined.detach(model);

        assertThat(NetworkAccess.layers(model)).containsExactlyElementsOf(before);
        assertThat(LayerExchange.inOrder(model)).containsExactlyInAnyOrderElementsOf(before);
        assertThat(before).allMatch(layer -> layer.getHelper() == null || !isOurs(layer));
    }

    @Test
    void detach_leavesALayerThatTrainsOn() {
        Model expected = LayerCases.SAME.create();
        Model actual = LayerCases.SAME.create();
        for (Map.Entry<CudnnLayers, Model> each :
                Map.of(apart, expected, joined, actual).entrySet()) {
            each.getKey().attach(each.getValue());
            Networks.fit(each.getValue(), LayerCases.SAME.data(BATCH, 0));
            each.getKey().detach(each.getValue());
            Networks.fit(each.getValue(), LayerCases.SAME.data(BATCH, 1));
        }
        assertThat(bits(actual.params())).isEqualTo(bits(expected.params()));
    }

    @Test
    void detach_betweenForwardAndBackward_isEqualBitForBit() {
        Model expected = trainedWithDetachAmid(apart);
        Model actual = trainedWithDetachAmid(joined);

        assertThat(bits(actual.params())).isEqualTo(bits(expected.params()));
        assertThat(NetworkAccess.layers(actual)).noneMatch(EngineBatchNormalization.class::isInstance);
    }

    private static Model trainedWithDetachAmid(CudnnLayers layers) {
        Model model = LayerCases.SAME.create();
        layers.attach(model);
        model.addListeners(new BaseTrainingListener() {
            @Override
            public void onForwardPass(Model trained, List<INDArray> activations) {
                if (((MultiLayerNetwork) trained).getIterationCount() == 1) {
                    layers.detach(trained);
                }
            }
        });
        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(model, LayerCases.SAME.data(BATCH, i));
        }
        return model;
    }

    @Test
    void fit_whenTheLibraryFails_goesOnWithTheLayersThemselves() {
        Model expected = LayerCases.SAME.create();
        Model actual = LayerCases.SAME.create();
        apart.attach(expected);
        joined.attach(actual);
        for (Model model : List.of(expected, actual)) {
            engine.failing = false;
            Networks.fit(model, LayerCases.SAME.data(BATCH, 0));
            engine.failing = true;
            Networks.fit(model, LayerCases.SAME.data(BATCH, 1));
            Networks.fit(model, LayerCases.SAME.data(BATCH, 2));
        }

        assertThat(bits(actual.params())).isEqualTo(bits(expected.params()));
        assertThat(NetworkAccess.layers(actual)).noneMatch(EngineBatchNormalization.class::isInstance);
    }

    @Test
    void attach_amidAnIteration_isEqualBitForBit() {
        int[][] parameters = new int[2][];
        CudnnLayers[] both = {apart, joined};
        for (int i = 0; i < both.length; i++) {
            CudnnLayers layers = both[i];
            Model model = LayerCases.SAME.create();
            model.addListeners(new BaseTrainingListener() {
                @Override
                public void onForwardPass(Model trained, List<INDArray> activations) {
                    layers.attach(trained);
                }
            });
            for (int step = 0; step < ITERATIONS; step++) {
                Networks.fit(model, LayerCases.SAME.data(BATCH, step));
            }
            parameters[i] = bits(model.params());
        }
        assertThat(parameters[1]).isEqualTo(parameters[0]);
    }

    /** A pass backwards ends at the frozen layer, and would never reach the first of those that are joined. */
    @Test
    void attach_leavesNetworksWithFrozenLayersAsTheyAre() {
        MultiLayerNetwork model = (MultiLayerNetwork) LayerCases.SAME.create();
        model.getLayers()[2] = new FrozenLayer(model.getLayer(2));
        joined.attach(model);
        assertThat(model.getLayers()).noneMatch(EngineBatchNormalization.class::isInstance);
    }

    /** A pass that a listener ends after the forward part leaves nothing for the next. */
    @Test
    void fit_afterAnAbandonedPass_isEqualBitForBit() {
        Model expected = abandonedOnce(apart);
        Model actual = abandonedOnce(joined);
        assertThat(bits(actual.params())).isEqualTo(bits(expected.params()));
    }

    private static Model abandonedOnce(CudnnLayers layers) {
        MultiLayerNetwork model = (MultiLayerNetwork) LayerCases.SAME.create();
        layers.attach(model);
        Networks.fit(model, LayerCases.SAME.data(BATCH, 0));
        model.feedForward(LayerCases.SAME.data(BATCH, 7).getFeatures(), true);
        Networks.fit(model, LayerCases.SAME.data(BATCH, 1));
        return model;
    }

    private static int[] train(Networks family, CudnnLayers layers, MemOptConfig config) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        layers.attach(model);
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, family.data(BATCH, i));
            }
        }
        layers.detach(model);
        return bits(model.params());
    }

    private static int[] train(Networks family, CudnnLayers layers) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        layers.attach(model);
        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(model, family.data(BATCH, i));
        }
        layers.detach(model);
        return bits(model.params());
    }

    private static int normalizations(Model model) {
        Layer[] layers =
                model instanceof ComputationGraph graph ? graph.getLayers() : ((MultiLayerNetwork) model).getLayers();
        return (int) Arrays.stream(layers)
                .filter(BatchNormalization.class::isInstance)
                .count();
    }

    private static boolean isOurs(Layer layer) {
        return layer.getHelper() instanceof EngineNormalization || layer.getHelper() instanceof EngineConvolution;
    }
}
