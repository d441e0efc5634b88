// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;

/** Everything that is known of a training, as numbers that must be the same to the last bit. */
final class Diary {
    private final List<Double> scores = new ArrayList<>();
    private final List<Double> inference = new ArrayList<>();
    private final List<Double> activations = new ArrayList<>();
    private int[] parameters = {};
    private int[] updaterState = {};

    /** What a StatsListener does: reads all activations of every third iteration while they are alive. */
    final class ActivationStatistics extends BaseTrainingListener {
        private int pass;

        @Override
        public void onForwardPass(Model model, List<INDArray> all) {
            if (pass++ % 3 == 2) {
                all.forEach(this::read);
            }
        }

        @Override
        public void onForwardPass(Model model, Map<String, INDArray> all) {
            if (pass++ % 3 == 2) {
                all.keySet().stream().sorted().forEach(name -> read(all.get(name)));
            }
        }

        private void read(INDArray array) {
            activations.add(array.meanNumber().doubleValue());
            activations.add(array.stdNumber().doubleValue());
        }
    }

    void score(Model model) {
        scores.add(model.score());
    }

    /** Outputs, a score without training, and a checkpoint. */
    void ask(Model model, MultiDataSet data) {
        if (model instanceof MultiLayerNetwork network) {
            inference.add(sum(network.output(data.getFeatures(0))));
            inference.add(network.score(TrainingCases.single(data)));
            inference.add(sum(network.feedForward(data.getFeatures(0)).get(1)));
        } else {
            ComputationGraph graph = (ComputationGraph) model;
            for (INDArray output : graph.output(data.getFeatures())) {
                inference.add(sum(output));
            }
            inference.add(graph.score(data));
        }
        inference.add((double) checkpoint(model));
    }

    void close(Model model) {
        parameters = bits(model.params());
        updaterState = bits(updaterState(model));
    }

    void assertSameAs(Diary other) {
        assertThat(scores).containsExactlyElementsOf(other.scores);
        assertThat(inference).containsExactlyElementsOf(other.inference);
        assertThat(activations).containsExactlyElementsOf(other.activations);
        assertThat(Arrays.mismatch(parameters, other.parameters))
                .as("first parameter that differs, of %d", parameters.length)
                .isEqualTo(-1);
        assertThat(Arrays.mismatch(updaterState, other.updaterState))
                .as("first number of the updater state that differs, of %d", updaterState.length)
                .isEqualTo(-1);
    }

    boolean hasActivations() {
        return !activations.isEmpty();
    }

    private static int checkpoint(Model model) {
        try (ByteArrayOutputStream out = new ByteArrayOutputStream()) {
            ModelSerializer.writeModel(model, out, true);
            return out.size();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static double sum(INDArray array) {
        return array.sumNumber().doubleValue();
    }

    private static INDArray updaterState(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getUpdater().getStateViewArray()
                : ((ComputationGraph) model).getUpdater().getStateViewArray();
    }

    private static int[] bits(INDArray array) {
        float[] values = array.dup().data().asFloat();
        int[] bits = new int[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Float.floatToRawIntBits(values[i]);
        }
        return bits;
    }
}
