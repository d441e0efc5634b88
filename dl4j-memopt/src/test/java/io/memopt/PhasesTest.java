// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.testing.Networks;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.FineTuneConfiguration;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.ViewIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Layers and phases in the ways of using a network that are not plain training. */
class PhasesTest {
    private MemOpt memopt;

    @BeforeEach
    void begin() {
        MemoryHooks.uninstall();
    }

    @AfterEach
    void end() {
        memopt.close();
        MemoryHooks.uninstall();
    }

    @Test
    void frozenLayers_network_haveNoBackwardPass() {
        MultiLayerNetwork trained = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        MultiLayerNetwork network = new TransferLearning.Builder(trained)
                .fineTuneConfiguration(new FineTuneConfiguration.Builder()
                        .updater(new Sgd(0.01))
                        .build())
                .setFeatureExtractor(1)
                .build();
        memopt = MemOpt.attach(network);
        assertThat(network.getLayer(0).getClass().getSimpleName()).isEqualTo("FrozenLayer");

        Set<String> seen = fitThrice(network, Networks.LENET);

        assertThat(seen)
                .contains("conv1 FORWARD", "conv2 FORWARD", "dense BACKWARD", "conv2 BACKWARD", "out SCORE")
                .doesNotContain("conv1 BACKWARD", "pool1 BACKWARD");
        assertThat(bytes("conv2 BACKWARD")).isGreaterThan(bytes("dense BACKWARD"));
    }

    @Test
    void frozenLayers_graph_haveNoBackwardPass() {
        ComputationGraph trained = (ComputationGraph) Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        ComputationGraph graph = new TransferLearning.GraphBuilder(trained)
                .fineTuneConfiguration(new FineTuneConfiguration.Builder()
                        .updater(new Sgd(0.01))
                        .build())
                .setFeatureExtractor("c2")
                .build();
        memopt = MemOpt.attach(graph);

        Set<String> seen = fitThrice(graph, Networks.RESIDUAL_GRAPH);

        assertThat(seen)
                .contains("c1 FORWARD", "c2 FORWARD", "bn FORWARD", "bn BACKWARD", "add BACKWARD", "out SCORE")
                .doesNotContain("c1 BACKWARD", "c2 BACKWARD");
    }

    @Test
    void truncatedBptt_subsequences_areForwardBackwardScore() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(1)
                .list()
                .layer(new LSTM.Builder().name("lstm").nOut(8).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .name("out")
                        .nOut(Networks.CLASSES)
                        .activation(Activation.SOFTMAX)
                        .build())
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTLength(5)
                .setInputType(InputType.recurrent(8))
                .build());
        network.init();
        memopt = MemOpt.attach(network);

        for (int i = 0; i < 3; i++) {
            network.fit(Networks.sequences(4, 17, i));
        }

        assertThat(layers()).containsExactlyInAnyOrder("lstm FORWARD", "lstm BACKWARD", "out BACKWARD", "out SCORE");
        assertThat(bytes("lstm BACKWARD")).isGreaterThan(bytes("out BACKWARD"));
        assertThat(memopt.summary().iterations()).as("4 subsequences each").isEqualTo(12);
    }

    @Test
    void evaluate_network_isEvaluationByLayer() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        memopt = MemOpt.attach(network);

        network.evaluate(new ViewIterator(Networks.LENET.data(16, 1), 4));

        assertThat(layers())
                .contains("conv1 EVALUATION", "conv2 EVALUATION", "dense EVALUATION", "out EVALUATION")
                .allMatch(layer -> layer.endsWith("EVALUATION"));
    }

    @Test
    void evaluate_graph_isEvaluationByLayer() {
        ComputationGraph graph = (ComputationGraph) Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        memopt = MemOpt.attach(graph);

        graph.evaluate(new ViewIterator(Networks.RESIDUAL_GRAPH.data(16, 1), 4));

        assertThat(layers())
                .contains("c1 EVALUATION", "c2 EVALUATION", "add EVALUATION", "out EVALUATION")
                .allMatch(layer -> layer.endsWith("EVALUATION"));
    }

    @Test
    void score_betweenFits_isNotTrainingAndShiftsNoLayer() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        memopt = MemOpt.attach(network);
        fitThrice(network, Networks.LENET);
        Map<String, Long> before = counts();

        network.score(Networks.LENET.data(4, 1));
        Map<String, Long> score = difference(counts(), before);
        before = counts();
        Networks.fit(network, Networks.LENET.data(4, 1));
        Map<String, Long> fit = difference(counts(), before);

        assertThat(score.keySet())
                .contains("conv1 INFERENCE", "conv2 INFERENCE")
                .noneMatch(layer -> layer.endsWith("FORWARD") || layer.endsWith("BACKWARD"));
        assertThat(fit).containsEntry("conv1 FORWARD", 2L).containsEntry("conv2 BACKWARD", 7L);
    }

    @Test
    void feedForward_betweenFits_isInferenceByLayerAndShiftsNoLayer() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        memopt = MemOpt.attach(network);
        fitThrice(network, Networks.LENET);
        Map<String, Long> before = counts();

        network.feedForward(Networks.LENET.data(4, 1).getFeatures());
        network.feedForward(Networks.LENET.data(4, 1).getFeatures());
        Map<String, Long> feed = difference(counts(), before);
        before = counts();
        Networks.fit(network, Networks.LENET.data(4, 1));
        Map<String, Long> fit = difference(counts(), before);

        assertThat(feed.keySet())
                .contains("conv1 INFERENCE", "conv2 INFERENCE")
                .allMatch(layer -> layer.endsWith("INFERENCE"));
        assertThat(feed.values()).allMatch(count -> count % 2 == 0);
        assertThat(fit).containsEntry("conv1 FORWARD", 2L).containsEntry("conv2 BACKWARD", 7L);
    }

    @Test
    void externalErrors_areOtherAndShiftNoLayer() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LSTM_TEXT.create(WorkspaceMode.ENABLED);
        memopt = MemOpt.attach(network);
        fitThrice(network, Networks.LSTM_TEXT);
        Map<String, Long> fit = fitCounts(network);
        Map<String, Long> before = counts();
        MultiLayerNetwork body = withoutOutput();
        MemOpt second = MemOpt.attach(body);
        DataSet data = Networks.sequences(4, 6, 1);

        body.setInput(data.getFeatures());
        body.feedForward(true, false);
        body.backpropGradient(Nd4j.ones(4, 24, 6), LayerWorkspaceMgr.noWorkspaces());

        Set<String> seen = HooksCombinationsTest.layers(MemoryHooks.recording().ledger(), second.name());
        Map<String, Long> phases = new HashMap<>();
        for (OwnerUsage usage : MemoryHooks.recording().ledger().usage()) {
            if (usage.owner().network().equals(second.name())) {
                phases.merge(usage.owner().phase().name(), usage.allocations(), Long::sum);
            }
        }
        assertThat(phases).containsKey("OTHER").doesNotContainKeys("BACKWARD", "SCORE");
        assertThat(seen).noneMatch(layer -> layer.endsWith("BACKWARD"));
        assertThat(difference(counts(), before)).as("the other network").isEmpty();
        second.close();
        assertThat(fitCounts(network)).isEqualTo(fit);
    }

    @Test
    void pretraining_isOtherAndTrainingAfterItIsRight() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(1)
                .list()
                .layer(new AutoEncoder.Builder().name("auto").nOut(6).build())
                .layer(new DenseLayer.Builder().name("dense").nOut(5).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .name("out")
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.feedForward(8))
                .build());
        network.init();
        memopt = MemOpt.attach(network);
        INDArray labels = Nd4j.eye(3).getRows(0, 1, 2, 0);
        DataSet data = new DataSet(Nd4j.rand(4, 8), labels);

        for (int i = 0; i < 3; i++) {
            network.pretrainLayer(0, data.getFeatures());
        }
        Map<String, Long> phases = phases();
        assertThat(phases).containsKey("OTHER").doesNotContainKeys("BACKWARD");

        network.fit(data);
        network.fit(data);
        assertThat(layers()).contains("auto FORWARD", "dense FORWARD", "auto BACKWARD", "out BACKWARD", "out SCORE");
    }

    private static MultiLayerNetwork withoutOutput() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(1)
                .list()
                .layer(new LSTM.Builder().name("first").nOut(24).build())
                .layer(new LSTM.Builder().name("second").nOut(24).build())
                .setInputType(InputType.recurrent(8))
                .build());
        network.init();
        return network;
    }

    private Set<String> fitThrice(Model model, Networks family) {
        for (int i = 0; i < 3; i++) {
            Networks.fit(model, family.data(4, i));
        }
        return layers();
    }

    private Map<String, Long> fitCounts(Model model) {
        Map<String, Long> before = counts();
        Networks.fit(model, Networks.LSTM_TEXT.data(4, 2));
        return difference(counts(), before);
    }

    private Set<String> layers() {
        return new TreeSet<>(
                HooksCombinationsTest.layers(MemoryHooks.recording().ledger(), memopt.name()));
    }

    /** Allocations in workspaces by "layer PHASE". */
    private Map<String, Long> counts() {
        Map<String, Long> counts = new HashMap<>();
        for (OwnerUsage usage : MemoryHooks.recording().ledger().usage()) {
            if (usage.owner().network().equals(memopt.name())
                    && !usage.owner().workspace().isEmpty()
                    && !usage.owner().layer().isEmpty()) {
                counts.merge(usage.owner().layer() + " " + usage.owner().phase(), usage.allocations(), Long::sum);
            }
        }
        return counts;
    }

    private Map<String, Long> phases() {
        Map<String, Long> phases = new HashMap<>();
        for (OwnerUsage usage : MemoryHooks.recording().ledger().usage()) {
            if (usage.owner().network().equals(memopt.name()) && usage.allocations() > 0) {
                phases.merge(usage.owner().phase().name(), usage.allocations(), Long::sum);
            }
        }
        return phases;
    }

    private long bytes(String layerAndPhase) {
        return MemoryHooks.recording().ledger().usage().stream()
                .filter(usage -> (usage.owner().layer() + " " + usage.owner().phase()).equals(layerAndPhase))
                .mapToLong(OwnerUsage::allocatedBytes)
                .sum();
    }

    private static Map<String, Long> difference(Map<String, Long> after, Map<String, Long> before) {
        Map<String, Long> result = new HashMap<>();
        after.forEach((key, count) -> result.put(key, count - before.getOrDefault(key, 0L)));
        result.values().removeIf(count -> count == 0);
        return result;
    }
}
