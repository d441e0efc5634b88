// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import static io.memopt.testing.Bits.bits;
import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.cudnn.ConvolutionPass;
import io.memopt.allocator.cudnn.ScratchHooks;
import io.memopt.allocator.cudnn.SimulatedScratch;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions;

/** Helpers in real networks. The engine below them computes on the host: what cuDNN does needs a GPU. */
class CudnnLayersTest {
    private static final int ITERATIONS = 4;
    /** By {@link #train}, with two examples each. */
    private static final int TRAINED = 3;

    private static final int BATCH = 6;
    /** The engine sums in double precision, the built-in path in single precision. */
    private static final double BOUND = 1e-5;

    private final HostEngine engine = new HostEngine();
    private final CudnnLayers layers = CudnnLayers.on(engine, Convolutions.CUDNN);

    @ParameterizedTest
    @EnumSource(LayerCases.class)
    void fit_equalsTheBuiltInPath(LayerCases kind) {
        Model plain = kind.create();
        Model ours = kind.create();
        layers.attach(ours);

        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(plain, kind.data(BATCH, i));
            Networks.fit(ours, kind.data(BATCH, i));
        }

        assertThat(distance(plain.params(), ours.params())).isLessThan(BOUND);
        INDArray x = kind.data(BATCH, 99).getFeatures();
        assertThat(distance(output(plain, x), output(ours, x))).isLessThan(BOUND);
        assertThat(engine.backwards).isEqualTo(2 * ITERATIONS);
        assertThat(engine.normalizationsBackward).isEqualTo(2 * ITERATIONS);
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "VGG", "RESIDUAL_GRAPH"})
    void fit_withReuseOfForwardResults_isEqualBitForBitAndComputesLess(Networks family) {
        int[] again = train(family, Convolutions.CUDNN.withReuseForward(false));
        int computedAgain = engine.forwards.size();
        engine.forwards.clear();
        int[] reused = train(family, Convolutions.CUDNN);

        assertThat(reused).isEqualTo(again);
        assertThat(engine.forwards).hasSize(computedAgain / 2);
    }

    /** The trial of a plan computes a minibatch twice from one state; what an engine has learnt or holds is no part of that. */
    @Test
    void planned_isTrusted_andTheEngineKeepsWhatItHas() {
        int[] unplanned = train(Networks.VGG, Convolutions.CUDNN);
        int convolutions = engine.forwards.size() / TRAINED;
        engine.forwards.clear();
        MemOptConfig planned = MemOptConfig.builder().reuse(Reuse.PLANNED).build();

        Nd4j.getRandom().setSeed(7);
        Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
        layers.attach(model);
        try (MemOpt memopt = MemOpt.attach(model, planned)) {
            for (int i = 0; i < TRAINED; i++) {
                Networks.fit(model, Networks.VGG.data(2, i));
            }
            assertThat(memopt.plans()).extracting(PlanRow::state).containsOnly("TRUSTED");
        }

        assertThat(bits(model.params())).isEqualTo(unplanned);
        assertThat(engine.forwards).hasSize((TRAINED + 1) * convolutions);
    }

    @Test
    void fit_withoutWorkspaces_computesForwardAgain() {
        Model model = Networks.LENET.create(WorkspaceMode.NONE);
        layers.attach(model);
        Networks.fit(model, Networks.LENET.data(2, 0));
        assertThat(engine.forwards).hasSize(4);
    }

    @ParameterizedTest
    @EnumSource(
            value = ConvolutionPass.class,
            names = {"FORWARD", "BACKWARD_FILTER"})
    void fit_whenNoAlgorithmObeys_goesToTheBuiltInPathAndSaysSoOnce(ConvolutionPass pass) {
        engine.refused.add(pass);
        Model ours = LayerCases.SAME.create();
        CudnnLayers onlyConvolutions = CudnnLayers.on(engine, Convolutions.CUDNN.withNormalization(false));
        onlyConvolutions.attach(ours);
        Model plain = LayerCases.SAME.create();

        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(plain, LayerCases.SAME.data(BATCH, i));
            Networks.fit(ours, LayerCases.SAME.data(BATCH, i));
        }

        assertThat(distance(plain.params(), ours.params())).isLessThan(BOUND);
        List<String> notes = onlyConvolutions.report(ours).orElseThrow().notes();
        assertThat(notes).hasSize(2).allMatch(note -> note.contains("no algorithm for " + pass));
    }

    @Test
    void fit_whenTheLibraryFails_goesOnWithTheBuiltInPath() {
        Model ours = LayerCases.SAME.create();
        layers.attach(ours);
        Networks.fit(ours, LayerCases.SAME.data(BATCH, 0));
        Model plain = LayerCases.SAME.create();
        plain.setParams(ours.params().dup());

        engine.failing = true;
        for (int i = 1; i < ITERATIONS; i++) {
            Networks.fit(plain, LayerCases.SAME.data(BATCH, i));
            Networks.fit(ours, LayerCases.SAME.data(BATCH, i));
        }

        assertThat(bits(ours.params())).isEqualTo(bits(plain.params()));
        assertThat(layers.report(ours).orElseThrow().notes())
                .hasSize(4)
                .allMatch(note -> note.contains("the library failed"));
    }

    /** Deeplearning4j forgets noisy weights after its built-in path only; batch normalisations have none. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void weightNoise_staysWithTheBuiltInPath(boolean normalization) {
        Model plain = noisy();
        Model ours = noisy();
        CudnnLayers some = CudnnLayers.on(engine, Convolutions.CUDNN.withNormalization(normalization));
        some.attach(ours);

        for (int i = 0; i < ITERATIONS; i++) {
            for (Model model : List.of(plain, ours)) {
                Nd4j.getRandom().setSeed(1 + i); // 0 would draw other numbers each time.
                Networks.fit(model, LayerCases.SAME.data(BATCH, i));
            }
        }

        assertThat(engine.forwards).isEmpty();
        assertThat(engine.normalizationsBackward).isEqualTo(normalization ? ITERATIONS : 0);
        assertThat(distance(plain.params(), ours.params())).isLessThanOrEqualTo(normalization ? BOUND : 0);
        assertThat(some.report(ours).orElseThrow().notes()).hasSize(2).allMatch(note -> note.contains("weight noise"));
    }

    private static Model noisy() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(3)
                .weightNoise(new DropConnect(0.7))
                .list()
                .layer(new org.deeplearning4j.nn.conf.layers.ConvolutionLayer.Builder(3, 3)
                        .nOut(4)
                        .build())
                .layer(new org.deeplearning4j.nn.conf.layers.BatchNormalization.Builder().build())
                .layer(new org.deeplearning4j.nn.conf.layers.ConvolutionLayer.Builder(3, 3)
                        .nOut(4)
                        .build())
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE)
                        .nOut(4)
                        .build())
                .setInputType(InputType.convolutional(9, 10, 3))
                .build());
        network.init();
        return network;
    }

    @Test
    void detach_leavesLayersAsTheyWere() {
        Model ours = LayerCases.CHANNELS_LAST.create();
        layers.attach(ours);
        Networks.fit(ours, LayerCases.CHANNELS_LAST.data(BATCH, 0));
        layers.detach(ours);
        Model plain = LayerCases.CHANNELS_LAST.create();
        plain.setParams(ours.params().dup());

        for (int i = 1; i < ITERATIONS; i++) {
            Networks.fit(plain, LayerCases.CHANNELS_LAST.data(BATCH, i));
            Networks.fit(ours, LayerCases.CHANNELS_LAST.data(BATCH, i));
        }

        assertThat(helpers(ours)).isEmpty();
        assertThat(bits(ours.params())).isEqualTo(bits(plain.params()));
        assertThat(layers.report(ours)).isEmpty();
    }

    @Test
    void detach_amidAnIteration_lastsToItsEnd() {
        Model plain = LayerCases.SAME.create();
        Model ours = LayerCases.SAME.create();
        layers.attach(ours);
        ours.addListeners(new BaseTrainingListener() {
            @Override
            public void onForwardPass(Model model, List<INDArray> activations) {
                layers.close();
            }
        });

        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(plain, LayerCases.SAME.data(BATCH, i));
            Networks.fit(ours, LayerCases.SAME.data(BATCH, i));
        }

        assertThat(engine.normalizations).isEqualTo(2);
        assertThat(engine.normalizationsBackward).isZero();
        assertThat(helpers(ours)).isEmpty();
        assertThat(distance(plain.params(), ours.params())).isLessThan(BOUND);
    }

    @Test
    void attach_amidAnIteration_begins() {
        Model plain = LayerCases.SAME.create();
        Model ours = LayerCases.SAME.create();
        ours.addListeners(new BaseTrainingListener() {
            @Override
            public void onForwardPass(Model model, List<INDArray> activations) {
                layers.attach(model);
            }
        });

        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(plain, LayerCases.SAME.data(BATCH, i));
            Networks.fit(ours, LayerCases.SAME.data(BATCH, i));
        }

        assertThat(engine.normalizationsBackward).isEqualTo(2 * (ITERATIONS - 1));
        assertThat(distance(plain.params(), ours.params())).isLessThan(BOUND);
    }

    @Test
    void attach_againAfterInit_findsTheNewLayers() {
        MultiLayerNetwork model = (MultiLayerNetwork) LayerCases.SAME.create();
        layers.attach(model);
        layers.attach(model);
        assertThat(helpers(model)).hasSize(4);

        model.init(model.params().dup(), false);
        layers.attach(model);

        assertThat(helpers(model)).hasSize(4);
        layers.detach(model);
        assertThat(helpers(model)).isEmpty();
    }

    @Test
    void outputAmidTraining_keepsTheStatisticsOfTraining() {
        Model plain = LayerCases.PLAIN.create();
        Model ours = LayerCases.PLAIN.create();
        layers.attach(ours);
        for (Model model : List.of(plain, ours)) {
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, LayerCases.PLAIN.data(BATCH, i));
                output(model, LayerCases.PLAIN.data(5, i).getFeatures());
            }
        }
        assertThat(distance(plain.params(), ours.params())).isLessThan(BOUND);
    }

    /** Two of 96 channels by Deeplearning4j for the convolution without bias, eight of 96 for the normalisation. */
    @Test
    void keptBytes_areThoseOfArraysThatOutliveAPass() {
        MultiLayerNetwork model = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new org.deeplearning4j.nn.conf.layers.ConvolutionLayer.Builder(3, 3)
                        .nOut(96)
                        .hasBias(false)
                        .build())
                .layer(new org.deeplearning4j.nn.conf.layers.BatchNormalization.Builder().build())
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE)
                        .nOut(2)
                        .build())
                .setInputType(InputType.convolutional(5, 5, 1))
                .build());
        model.init();
        layers.attach(model);
        try (MemOpt memopt = MemOpt.attach(model)) {
            MemoryLedger ledger = MemoryHooks.recording().ledger();
            DataSet data = new DataSet(Nd4j.rand(4, 1, 5, 5), Nd4j.rand(4, 2));
            AtomicLong kept = new AtomicLong();
            Networks.fit(model, data);
            Networks.fit(model, data);
            ledger.forEachLive((key, array) -> kept.addAndGet(array.roundedBytes() == 96 * Float.BYTES ? 1 : 0));

            assertThat(kept.get()).isEqualTo(2 + 8);
            assertThat(layers.scratch(model).orElseThrow().keptBytes()).isEqualTo(kept.get() * 96 * Float.BYTES);
        }
    }

    @Test
    void limits_ofSeveralNetworks_theLeastCounts() {
        SimulatedScratch simulated = new SimulatedScratch(ScratchHooks.none(), 4);
        CudnnLayers both = CudnnLayers.on(new HostEngine(simulated), Convolutions.CUDNN);
        Model one = Networks.LENET.create(WorkspaceMode.ENABLED);
        Model other = Networks.LENET.create(WorkspaceMode.ENABLED);
        both.attach(one);
        both.attach(other);

        both.scratch(one).orElseThrow().limit(0, 0);
        both.scratch(other).orElseThrow().limit(1000, 1000);
        Networks.fit(one, Networks.LENET.data(2, 0));
        assertThat(simulated.heldBytes()).isZero();
        both.detach(one);
        Networks.fit(other, Networks.LENET.data(2, 0));
        assertThat(simulated.heldBytes()).isZero();
        both.scratch(other).orElseThrow().limit(NetworkScratch.UNLIMITED, NetworkScratch.UNLIMITED);
        Networks.fit(other, Networks.LENET.data(2, 0));
        assertThat(simulated.heldBytes()).isEqualTo(2 * 20 * 12 * 12 * 4); // input of the second one
        both.close();
    }

    /** What an engine is told is the least of all networks' limits. */
    @Test
    void networkWithNewLayers_keepsItsLimit() {
        SimulatedScratch simulated = new SimulatedScratch(ScratchHooks.none(), 4);
        CudnnLayers several = SimulatedConvolutions.layers(simulated);
        MultiLayerNetwork one = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        Model other = Networks.LENET.create(WorkspaceMode.ENABLED);
        several.attach(one);
        several.attach(other);
        several.scratch(one).orElseThrow().limit(100);

        one.setLayers(one.getLayers().clone());
        several.attach(one);
        several.scratch(other).orElseThrow().limit(200);
        assertThat(simulated.limits()).containsExactly(100L);

        several.detach(one);
        assertThat(simulated.limits()).containsExactly(100L, 200L);
        several.close();
    }

    @Test
    void limitOfACollectedNetwork_endsWithTheNextThatIsAttached() {
        SimulatedScratch simulated = new SimulatedScratch(ScratchHooks.none(), 4);
        CudnnLayers several = SimulatedConvolutions.layers(simulated);
        WeakReference<Model> gone = limited(several);
        for (int i = 0; i < 100 && !gone.refersTo(null); i++) {
            System.gc();
        }
        assertThat(gone.refersTo(null)).isTrue();

        several.attach(Networks.LENET.create(WorkspaceMode.ENABLED));

        assertThat(simulated.limits()).containsExactly(100L, NetworkScratch.UNLIMITED);
        several.close();
    }

    private static WeakReference<Model> limited(CudnnLayers several) {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        several.attach(model);
        several.scratch(model).orElseThrow().limit(100);
        return new WeakReference<>(model);
    }

    @Test
    void report_namesLayersPassesAndTheFront() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        layers.attach(model);
        Networks.fit(model, Networks.LENET.data(2, 0));

        ConvolutionReport report = layers.report(model).orElseThrow();

        assertThat(report.rows()).extracting(ConvolutionRow::layer).containsOnly("conv1", "conv2");
        assertThat(report.rows()).extracting(ConvolutionRow::pass).contains(ConvolutionPass.values());
        assertThat(report.front()).hasSize(1);
        assertThat(report.front().get(0).nanos()).isEqualTo(6000);
        assertThat(report.front().get(0).scratchBytes()).isEqualTo(64);
        assertThat(report.notes()).isEmpty();
    }

    private int[] train(Networks family, Convolutions settings) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        CudnnLayers ours = CudnnLayers.on(engine, settings);
        ours.attach(model);
        for (int i = 0; i < TRAINED; i++) {
            Networks.fit(model, family.data(2, i));
        }
        ours.detach(model);
        return bits(model.params());
    }

    private static INDArray output(Model model, INDArray x) {
        return ((MultiLayerNetwork) model).output(x);
    }

    private static List<Object> helpers(Model model) {
        Layer[] all = model instanceof MultiLayerNetwork network
                ? network.getLayers()
                : ((ComputationGraph) model).getLayers();
        List<Object> found = new java.util.ArrayList<>();
        for (Layer layer : all) {
            Object helper =
                    layer instanceof ConvolutionLayer || layer instanceof BatchNormalization ? layer.getHelper() : null;
            if (helper != null) {
                found.add(helper);
            }
        }
        return found;
    }

    /** Norm of the difference over the norm of the first. */
    static double distance(INDArray expected, INDArray actual) {
        double[] a = HostEngine.values(expected);
        double[] b = HostEngine.values(actual);
        double difference = 0;
        double norm = 0;
        for (int i = 0; i < a.length; i++) {
            difference += (a[i] - b[i]) * (a[i] - b[i]);
            norm += a[i] * a[i];
        }
        return Math.sqrt(difference / norm);
    }
}
