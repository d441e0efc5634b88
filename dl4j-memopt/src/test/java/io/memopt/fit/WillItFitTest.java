// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.MemOpt;
import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.testing.Networks;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.assertj.core.data.Percentage;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Predictions against what real runs reserve. The claim is ten percent; recorded forecasts are held to one. */
class WillItFitTest {
    private static final Percentage CLOSE = Percentage.withPercentage(1);

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    /** Case P14. */
    @Test
    void prediction_ofConvolutions_namesTheSecondAndItsUnfoldedInput() {
        assertConvolutions(8);
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(ints = {16, 32})
    void prediction_ofLargerBatches_namesTheSecondAndItsUnfoldedInput(int batch) {
        assertConvolutions(batch);
    }

    private static void assertConvolutions(int batch) {
        MemoryForecast forecast = MemOpt.willItFit(Networks.cnn(64, 5), InputType.convolutional(64, 64, 3));

        Prediction prediction = forecast.at(batch);

        assertPredicted(prediction, () -> Networks.cnn(64, 5), WillItFitTest::images);
        assertThat(prediction.culprit().layer()).isEqualTo("layer1");
        assertThat(prediction.culprit().text())
                .contains("ConvolutionLayer 5x5", "backward", "WS_LAYER_WORKING_MEM", "3 of ", "im2col");
        Part scratch = prediction.settled().parts().get(0);
        long unfolded = batch * 8L * 25 * 56 * 56 * Float.BYTES; // channels, kernel, output pixels
        assertThat(scratch.arrays().subList(0, 3)).containsOnly(unfolded);
        assertThat(scratch.category()).isEqualTo(Category.WORKING_MEMORY);
        assertThat(scratch.phase()).isEqualTo(Phase.BACKWARD);
        assertThat(forecast.certainty()).contains("to the byte");
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void prediction_ofFamily_isWhatTrainingReserves(Networks family) {
        assertFamily(family, WorkspaceMode.ENABLED);
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource(Networks.class)
    void prediction_ofFamilyWithoutWorkspaces_isWhatTrainingReserves(Networks family) {
        assertFamily(family, WorkspaceMode.NONE);
    }

    private static void assertFamily(Networks family, WorkspaceMode mode) {
        MemoryForecast forecast =
                MemOpt.willItFit(family.create(mode), family.data(1, 3).toMultiDataSet());

        Prediction prediction = forecast.at(12);

        assertPredicted(prediction, () -> family.create(mode), batch -> family.data(batch, 3));
        assertThat(prediction.culprit().layer()).isNotEmpty();
    }

    @Test
    void prediction_ofCachedConvolutions_tellsWhatTheSettingDoes() {
        int batch = 8;
        Supplier<MultiLayerNetwork> plain = () -> Networks.cnn(48, 5);
        Supplier<MultiLayerNetwork> cached = () -> withCache(Networks.cnn(48, 5));

        long before = forecast48(plain).at(batch).peakBytes();
        long after = forecast48(cached).at(batch).peakBytes();

        long measuredBefore = measure(plain, WillItFitTest::images48, batch, 4).peakBytes();
        long measuredAfter = measure(cached, WillItFitTest::images48, batch, 4).peakBytes();
        assertThat(measuredAfter).isNotEqualTo(measuredBefore);
        assertThat(after - before).isCloseTo(measuredAfter - measuredBefore, Percentage.withPercentage(10));
    }

    @Test
    void fix_hasThePredictedEffect() {
        Prediction prediction = forecast48(() -> Networks.cnn(48, 5)).at(8);
        Matcher fix = Pattern.compile("batches of (\\d+): the peak will be .*\\((\\d+) B\\)")
                .matcher(prediction.culprit().fix());
        assertThat(fix.find()).isTrue();

        MeasuredRun before = measure(() -> Networks.cnn(48, 5), WillItFitTest::images48, 8, 4);
        MeasuredRun after =
                measure(() -> Networks.cnn(48, 5), WillItFitTest::images48, Integer.parseInt(fix.group(1)), 4);

        long saved = prediction.peakBytes() - Long.parseLong(fix.group(2));
        assertThat(saved).isCloseTo(before.peakBytes() - after.peakBytes(), CLOSE);
    }

    @Test
    void prediction_ofFrozenLayers_isWhatTrainingReserves() {
        Supplier<MultiLayerNetwork> frozen =
                () -> new TransferLearning.Builder((MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED))
                        .setFeatureExtractor(1)
                        .build();

        Prediction prediction = MemOpt.willItFit(frozen.get(), InputType.convolutionalFlat(28, 28, 1))
                .at(12);

        assertPredicted(prediction, frozen, batch -> Networks.LENET.data(batch, 3));
    }

    @Test
    void prediction_ofMaskedSequences_isWhatTrainingReserves() {
        IntFunction<DataSet> masked = batch -> {
            DataSet data = Networks.sequences(batch, 9, 1);
            data.setFeaturesMaskArray(Nd4j.ones(batch, 9));
            data.setLabelsMaskArray(Nd4j.ones(batch, 9));
            return data;
        };
        Supplier<Model> network = () -> Networks.LSTM_TEXT.create(WorkspaceMode.ENABLED);

        Prediction prediction = MemOpt.willItFit(network.get(), masked.apply(1).toMultiDataSet())
                .at(12);

        assertPredicted(prediction, network, masked);
    }

    @Test
    void largestBatch_isTheLastThatFits() {
        MemoryForecast forecast = forecast48(() -> Networks.cnn(48, 5));
        long budget = forecast.at(21).peakBytes();

        int largest = forecast.largestBatch(budget);

        assertThat(largest).isEqualTo(21);
        assertThat(forecast.at(21).fits(budget)).isTrue();
        assertThat(forecast.at(22).fits(budget)).isFalse();
        assertThat(forecast.largestBatch(1000)).isZero();
    }

    /** Case P5. */
    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void pool_keepsWorkspacesForEachThread(int threads) throws Exception {
        MultiLayerNetwork network = Networks.cnn(48, 5);
        PoolPrediction pool = MemOpt.willItFit(network, InputType.convolutional(48, 48, 3))
                .inference(threads, 8)
                .orElseThrow();
        MemoryLedger ledger = MemoryHooks.install().ledger();
        long before = ledger.reservedBytes(AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST);

        long kept = idleBytes(network, threads, ledger) - before;

        assertThat(pool.threads() * pool.idleBytes()).isCloseTo(kept, CLOSE);
        assertThat(pool.retainedBytes()).isEqualTo(pool.parameterBytes() + threads * pool.idleBytes());
        assertThat(pool.peakBytes()).isGreaterThan(pool.retainedBytes());
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void forecast_leavesNoTrace(Networks family) {
        assertLeavesNoTrace(family, WorkspaceMode.ENABLED);
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource(Networks.class)
    void forecast_withoutWorkspaces_leavesNoTrace(Networks family) {
        assertLeavesNoTrace(family, WorkspaceMode.NONE);
    }

    private static void assertLeavesNoTrace(Networks family, WorkspaceMode mode) {
        List<INDArray> plain = trained(family, mode, false);
        List<INDArray> asked = trained(family, mode, true);

        for (int i = 0; i < plain.size(); i++) {
            assertThat(asked.get(i)).isEqualTo(plain.get(i));
        }
    }

    @Test
    void forecast_ofUnknownLength_isRefused() {
        MultiLayerNetwork network = Networks.lstm(8, 16, 2);

        assertThatThrownBy(() -> MemOpt.willItFit(network, InputType.recurrent(8)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("InputType.recurrent(size, steps)");
    }

    @Test
    void forecast_ofWrongShape_saysWhatFailed() {
        MultiLayerNetwork network = Networks.mlp(64, 32, 10);

        assertThatThrownBy(() -> MemOpt.willItFit(network, InputType.feedForward(63)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Check the input type");
        assertThat(MemoryHooks.installed()).isFalse();
    }

    @Test
    void forecast_ofRawNetwork_isRefused() {
        MultiLayerNetwork raw = new MultiLayerNetwork(Networks.mlp(4, 4, 4).getLayerWiseConfigurations());

        assertThatThrownBy(() -> MemOpt.willItFit(raw, InputType.feedForward(4)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("initialised");
        assertThatThrownBy(() -> forecast48(() -> Networks.cnn(48, 5)).at(0)).hasMessageContaining("batch=0");
    }

    private static MemoryForecast forecast48(Supplier<MultiLayerNetwork> network) {
        return MemOpt.willItFit(network.get(), InputType.convolutional(48, 48, 3));
    }

    private static MultiLayerNetwork withCache(MultiLayerNetwork network) {
        MultiLayerConfiguration configuration = network.getLayerWiseConfigurations();
        configuration.setCacheMode(CacheMode.DEVICE);
        configuration.getConfs().forEach(layer -> layer.setCacheMode(CacheMode.DEVICE));
        MultiLayerNetwork cached = new MultiLayerNetwork(configuration.clone());
        cached.init();
        return cached;
    }

    static void assertPredicted(Prediction prediction, Supplier<? extends Model> network, IntFunction<DataSet> data) {
        MeasuredRun run = measure(network, data, prediction.batch(), prediction.settledAfter() + 1);

        System.out.printf(
                "batch %d: peak predicted %d, measured %d; settled predicted %d, measured %d%n",
                prediction.batch(),
                prediction.peakBytes(),
                run.peakBytes(),
                prediction.settled().bytes(),
                run.lastBytes());
        assertThat(prediction.peakBytes()).isCloseTo(run.peakBytes(), CLOSE);
        assertThat(prediction.settled().bytes()).isCloseTo(run.lastBytes(), CLOSE);
    }

    static MeasuredRun measure(
            Supplier<? extends Model> network, IntFunction<DataSet> data, int batch, int iterations) {
        return MeasuredRun.of(network, () -> data.apply(batch), iterations, Networks::fit);
    }

    /** Workspace blocks held by a pool of live threads after several calls each, one call at a time. */
    private static long idleBytes(MultiLayerNetwork network, int threads, MemoryLedger ledger) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            CyclicBarrier everyThreadHasOne = new CyclicBarrier(threads);
            Callable<Void> calls = () -> {
                everyThreadHasOne.await();
                for (int i = 0; i < 8; i++) {
                    synchronized (network) {
                        network.output(Nd4j.zeros(8, 3, 48, 48));
                    }
                }
                return null;
            };
            for (Future<Void> done : pool.invokeAll(java.util.Collections.nCopies(threads, calls))) {
                done.get();
            }
            return ledger.reservedBytes(AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST);
        } finally {
            pool.shutdown();
        }
    }

    /** Parameters, updater state and the next random numbers after training. */
    private static List<INDArray> trained(Networks family, WorkspaceMode mode, boolean asks) {
        Model network = family.create(mode);
        Nd4j.getRandom().setSeed(7);
        for (int i = 0; i < 3; i++) {
            Networks.fit(network, family.data(4, i));
            if (asks) {
                MemOpt.willItFit(network, family.data(2, i).toMultiDataSet());
            }
        }
        INDArray updater = network instanceof MultiLayerNetwork layers
                ? layers.getUpdater().getStateViewArray()
                : ((org.deeplearning4j.nn.graph.ComputationGraph) network)
                        .getUpdater()
                        .getStateViewArray();
        return List.of(network.params(), updater, Nd4j.rand(5), Nd4j.scalar(network.score()));
    }

    private static DataSet images(int batch) {
        return new DataSet(Nd4j.rand(batch, 3, 64, 64), Nd4j.zeros(batch, Networks.CLASSES));
    }

    private static DataSet images48(int batch) {
        return new DataSet(Nd4j.rand(batch, 3, 48, 48), Nd4j.zeros(batch, Networks.CLASSES));
    }
}
