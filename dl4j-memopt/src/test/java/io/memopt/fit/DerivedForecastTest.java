// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.MemOpt;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.testing.Networks;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.assertj.core.data.Percentage;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Estimates from configurations against what real runs reserve. */
class DerivedForecastTest {
    private static final Percentage CLOSE = Percentage.withPercentage(10);

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    static Stream<Arguments> families() {
        return Stream.of(Networks.values())
                .flatMap(family ->
                        Stream.of(WorkspaceMode.ENABLED, WorkspaceMode.NONE).map(mode -> Arguments.of(family, mode)));
    }

    @ParameterizedTest
    @MethodSource("families")
    void estimate_isWithinTenPercentOfTraining(Networks family, WorkspaceMode mode) {
        MemoryForecast forecast = derived(family.create(mode), inputOf(family));

        Prediction prediction = forecast.at(20);

        MeasuredRun run = WillItFitTest.measure(
                () -> family.create(mode), batch -> family.data(batch, 4), 20, prediction.settledAfter() + 1);
        System.out.printf(
                "%s %s: derived %d, measured %d, %+.2f %%%n",
                family,
                mode,
                prediction.peakBytes(),
                run.peakBytes(),
                100.0 * prediction.peakBytes() / run.peakBytes() - 100);
        assertThat(prediction.peakBytes()).isCloseTo(run.peakBytes(), CLOSE);
        assertThat(forecast.method()).isEqualTo(MemoryForecast.Method.DERIVED);
        assertThat(forecast.certainty()).contains("estimate");
    }

    /** Case P14, without a network. */
    @Test
    void estimate_ofConvolutions_namesTheSecond() {
        MultiLayerConfiguration configuration = Networks.cnn(64, 5).getLayerWiseConfigurations();

        Prediction prediction = MemOpt.willItFit(configuration, InputType.convolutional(64, 64, 3))
                .at(8);

        assertThat(prediction.culprit().layer()).isEqualTo("layer1");
        assertThat(prediction.culprit().text()).contains("3 of 19.1 MiB (the input unfolded");
    }

    @Test
    void estimate_allocatesNothingAndLeavesTheConfiguration() {
        ComputationGraphConfiguration configuration =
                ((ComputationGraph) Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED)).getConfiguration();
        String before = configuration.toJson();
        MemoryLedger ledger = MemoryHooks.install().ledger();
        AtomicLong allocations = new AtomicLong();
        long thread = Thread.currentThread().getId();
        EventSink counter = (code, time, by, owner, workspace, address, bytes, extra) -> {
            boolean ours = by == thread && EventCode.kind(code) == EventKind.ALLOCATE;
            allocations.addAndGet(ours ? 1 : 0);
        };
        ledger.addSink(counter);

        MemOpt.willItFit(configuration, InputType.convolutional(16, 16, 3)).at(64);

        ledger.removeSink(counter);
        assertThat(allocations).hasValue(0);
        assertThat(configuration.toJson()).isEqualTo(before);
    }

    @Test
    void estimate_ofTypeWithoutRule_saysSo() {
        MultiLayerConfiguration configuration = new NeuralNetConfiguration.Builder()
                .list()
                .layer(new Convolution3D.Builder(2, 2, 2).nOut(4).build())
                .layer(new Cnn3DLossLayer.Builder(Convolution3D.DataFormat.NCDHW).build())
                .setInputType(InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 4, 8, 8, 1))
                .build();

        MemoryForecast forecast =
                MemOpt.willItFit(configuration, InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 4, 8, 8, 1));

        assertThat(forecast.certainty()).contains("Convolution3D");
        assertThat(forecast.inference(1, 1)).isEmpty();
    }

    @Test
    void estimate_ofUnknownLength_isRefused() {
        MultiLayerConfiguration configuration = Networks.lstm(8, 16, 2).getLayerWiseConfigurations();

        assertThatThrownBy(() -> MemOpt.willItFit(configuration, InputType.recurrent(8)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("InputType.recurrent(size, steps)");
    }

    static MemoryForecast derived(Model model, InputType input) {
        return model instanceof MultiLayerNetwork network
                ? MemOpt.willItFit(network.getLayerWiseConfigurations(), input)
                : MemOpt.willItFit(((ComputationGraph) model).getConfiguration(), input);
    }

    private static InputType inputOf(Networks family) {
        return switch (family) {
            case LENET -> InputType.convolutionalFlat(28, 28, 1);
            case VGG, RESIDUAL_GRAPH -> InputType.convolutional(16, 16, 3);
            case LSTM_TEXT -> InputType.recurrent(8, 10); // as data of seed 4
        };
    }
}
