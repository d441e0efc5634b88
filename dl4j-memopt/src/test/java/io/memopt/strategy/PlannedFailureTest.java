// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.testing.Networks;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.ObjIntConsumer;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Whatever a plan meets, training goes on and every bit is that of plain training. */
class PlannedFailureTest {
    private static final int ITERATIONS = 8;
    private static final MemOptConfig PLANNED =
            MemOptConfig.builder().reuse(Reuse.PLANNED).build();

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    // ---- networks that no plan fits

    @Test
    void activationReadThroughRawPointers_isRefused() {
        AtomicReference<AwkwardActivation.RawReader> reader = new AtomicReference<>();
        Supplier<Model> network = () -> {
            reader.set(new AwkwardActivation.RawReader());
            return dense(reader.get());
        };
        // The second computation would add to what the first has seen.
        ObjIntConsumer<Model> step = (model, i) -> {
            fit(model, i);
            reader.get().forget();
        };
        List<PlanRow> plans = compare(network, step);
        assertThat(training(plans).state()).isEqualTo("REFUSED");
        assertThat(training(plans).reason()).contains("results under the plan differ from those without");
    }

    @Test
    void layerThatCountsItsCalls_isServed() {
        List<PlanRow> plans = compare(() -> dense(new AwkwardActivation.Counter()), PlannedFailureTest::fit);
        assertThat(training(plans).state()).isEqualTo("TRUSTED");
        assertThat(training(plans).served()).isPositive();
    }

    @Test
    void stateThatNoFieldHolds_isRefused() {
        Model network = dense(new AwkwardActivation.StaticCounter());
        try (MemOpt memopt = MemOpt.attach(network, PLANNED)) {
            fit(network, 0);
            assertThat(training(memopt.plans()).state()).isEqualTo("REFUSED");
            assertThat(training(memopt.plans()).reason()).contains("differ when a minibatch is computed again");
            fit(network, 1);
        }
    }

    /** Plans that another network asked for are made for this one, too, and are refused: other ways need none. */
    @Test
    void budgetOfANetworkWhosePlansAreRefused_isMetWithoutPlans() {
        Model other = dense(new AwkwardActivation.Counter());
        Model network = dense(new AwkwardActivation.StaticCounter());
        try (MemOpt planning = MemOpt.attach(other, PLANNED);
                MemOpt memopt = MemOpt.attach(
                        network, MemOptConfig.builder().budget("1 GiB").build())) {
            fit(network, 0);

            assertThat(memopt.budget().orElseThrow().chosen().reuse()).isEqualTo(Reuse.RELEASED);
        }
    }

    @Test
    void arraysThatAlwaysDiffer_areLeftToNd4j() {
        AtomicReference<AwkwardActivation.Unsteady> unsteady = new AtomicReference<>();
        Supplier<Model> network = () -> {
            unsteady.set(new AwkwardActivation.Unsteady());
            return dense(unsteady.get());
        };
        List<PlanRow> plans = compare(network, (model, i) -> {
            fit(model, i);
            unsteady.get().next();
        });
        assertThat(training(plans).state()).isEqualTo("REFUSED");
        assertThat(training(plans).reason()).contains("arrays differ from one pass to the next");
    }

    @ParameterizedTest
    @ValueSource(classes = {OutOfMemoryError.class, NoClassDefFoundError.class})
    void failureOfTheSecondComputation_isRefused(Class<? extends Error> type) throws ReflectiveOperationException {
        Error error = type.getConstructor(String.class).newInstance("planted");
        List<PlanRow> plans = compare(() -> dense(new AwkwardActivation.FailingTwin(error)), PlannedFailureTest::fit);
        assertThat(training(plans).state()).isEqualTo("REFUSED");
        assertThat(training(plans).reason()).contains("second computation failed", "planted");
    }

    // ---- users who do things in between

    @Test
    void exceptionOfListener_amidAPass_changesNothing() {
        List<PlanRow> plans = compare(
                () -> {
                    Model network = Networks.LENET.create(WorkspaceMode.ENABLED);
                    network.addListeners(new ThrowingListener());
                    return network;
                },
                (model, i) -> {
                    try {
                        fit(model, Networks.LENET.data(4, i));
                    } catch (IllegalStateException e) {
                        assertThat(e).hasMessage("planted");
                    }
                });
        assertThat(training(plans).state()).isEqualTo("TRUSTED");
        assertThat(training(plans).served()).isPositive();
        assertThat(training(plans).missed()).isZero();
    }

    /** In its third pass (planned, if at all) and its fifth. */
    private static final class ThrowingListener extends BaseTrainingListener {
        private int pass;

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            pass++;
            if (pass == 1 || pass == 5) {
                throw new IllegalStateException("planted");
            }
        }
    }

    @Test
    void closeByListener_amidAServedPass_freesTheArenaAfterIt() {
        Model untouched = Networks.LENET.create(WorkspaceMode.ENABLED);
        Diary plain = train(untouched, null, (m, i) -> fit(m, Networks.LENET.data(4, i)), new ArrayList<>());
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        ClosingListener listener = new ClosingListener(MemOpt.attach(model, PLANNED));
        model.addListeners(listener);

        Diary planned = train(model, null, (m, i) -> fit(m, Networks.LENET.data(4, i)), new ArrayList<>());

        planned.assertSameAs(plain);
        assertThat(listener.arenaAmidPass).isPositive();
        assertThat(listener.ledger.accounts())
                .noneMatch(account -> account.name().equals("MEMOPT_ARENA"));
    }

    private static final class ClosingListener extends BaseTrainingListener {
        private final MemOpt memopt;
        private final MemoryLedger ledger = MemoryHooks.recording().ledger();
        private int pass;
        private long arenaAmidPass;

        ClosingListener(MemOpt memopt) {
            this.memopt = memopt;
        }

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            if (++pass == 4) {
                memopt.close();
                collectGarbage(() -> false, 3);
                arenaAmidPass = arenaBytes(ledger);
            }
        }
    }

    @Test
    void handleClosedAndAttachedAgain_inEveryState_changesNothing() {
        AtomicReference<MemOpt> handle = new AtomicReference<>();
        ObjIntConsumer<Model> plainly = (model, i) -> fit(model, Networks.VGG.data(4, i));
        Diary plain = train(Networks.VGG.create(WorkspaceMode.ENABLED), null, plainly, new ArrayList<>());
        Diary planned = train(
                Networks.VGG.create(WorkspaceMode.ENABLED),
                null,
                (model, i) -> {
                    if (i == 0 || i == 3 || i == 5) {
                        handle.set(MemOpt.attach(model, PLANNED));
                    }
                    fit(model, Networks.VGG.data(4, i));
                    if (i == 2 || i == 3 || i == 6) {
                        handle.get().close();
                    }
                },
                new ArrayList<>());
        planned.assertSameAs(plain);
    }

    @Test
    void oneOfTwoHandles_closed_leavesPlansInPlace() {
        Model network = Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOpt first = MemOpt.attach(network, PLANNED);
        try (MemOpt second = MemOpt.attach(network)) {
            fit(network, Networks.LENET.data(4, 0));
            first.close();
            fit(network, Networks.LENET.data(4, 1));
            assertThat(training(second.plans()).served()).isEqualTo(1);
        }
    }

    // ---- other ways to train

    @Test
    void withoutWorkspaces_nothingIsPlanned() {
        List<PlanRow> plans = compare(
                () -> Networks.VGG.create(WorkspaceMode.NONE), (model, i) -> fit(model, Networks.VGG.data(4, i)));
        assertThat(plans).isEmpty();
    }

    @Test
    void cachedActivations_areServed() {
        List<PlanRow> plans = compare(
                () -> {
                    MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
                    network.setCacheMode(CacheMode.DEVICE);
                    return network;
                },
                (model, i) -> fit(model, Networks.LENET.data(4, i)));
        assertThat(training(plans).state()).isEqualTo("TRUSTED");
        assertThat(training(plans).missed()).isZero();
    }

    @Test
    void transferLearning_withFrozenLayers_isServed() {
        List<PlanRow> plans = compare(
                () -> new TransferLearning.Builder((MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED))
                        .setFeatureExtractor(2)
                        .build(),
                (model, i) -> fit(model, Networks.LENET.data(4, i)));
        assertThat(training(plans).state()).isEqualTo("TRUSTED");
        assertThat(training(plans).missed()).isZero();
    }

    /** Its pass asks for what training asks for, and reads what training has done with. */
    @Test
    void gradientsAskedForByHand_equalPlain() {
        List<PlanRow> plans = compare(() -> dense(Activation.TANH.getActivationFunction()), (model, i) -> {
            fit(model, i);
            DataSet data = data(i);
            INDArray epsilon = ((MultiLayerNetwork) model)
                    .calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                    .getSecond();
            ((MultiLayerNetwork) model).setScore(epsilon.sumNumber().doubleValue());
        });
        assertThat(training(plans).state()).isEqualTo("TRUSTED");
        assertThat(plans).anySatisfy(plan -> assertThat(plan.pass()).contains("in calculateGradients"));
    }

    // ---- nothing is held for ever

    @Test
    void droppedNetwork_isForgotten() {
        try (MemOpt other = MemOpt.attach(dense(Activation.TANH.getActivationFunction()), PLANNED)) {
            WeakReference<Model> dropped = trainedAndDropped();
            assertThat(collectGarbage(() -> dropped.refersTo(null), 50)).isTrue();
            assertThat(other.plans()).isEmpty();
        }
    }

    private static WeakReference<Model> trainedAndDropped() {
        Model network = dense(Activation.TANH.getActivationFunction());
        MemOpt.attach(network, PLANNED);
        for (int i = 0; i < 3; i++) {
            fit(network, i);
        }
        return new WeakReference<>(network);
    }

    @Test
    void endOfThread_freesItsArena() throws InterruptedException {
        Model network = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(network, PLANNED)) {
            Thread thread = new Thread(() -> {
                for (int i = 0; i < 3; i++) {
                    fit(network, Networks.LENET.data(4, i));
                }
            });
            thread.start();
            thread.join();
            assertThat(training(memopt.plans()).served()).isEqualTo(2);
            assertThat(collectGarbage(() -> arenaBytes() == 0, 50)).isTrue();
        }
    }

    @Test
    void plansOfEndedThreads_areBounded() throws InterruptedException {
        Model network = dense(Activation.TANH.getActivationFunction());
        try (MemOpt memopt = MemOpt.attach(network, PLANNED)) {
            for (int i = 0; i < PlannedReuse.MAX_ENDED_THREADS + 4; i++) {
                Thread thread = new Thread(() -> fit(network, 0));
                thread.start();
                thread.join();
            }
            assertThat(memopt.plans()).hasSizeBetween(1, PlannedReuse.MAX_ENDED_THREADS + 1);
        }
    }

    @Test
    void arena_isAllThatNetworksReserve() {
        Model network = Networks.VGG.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(network, PLANNED)) {
            for (int i = 0; i < 4; i++) {
                fit(network, Networks.VGG.data(4, i));
            }
            assertThat(MemoryHooks.recording().ledger().reservedBytes(AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST))
                    .isEqualTo(arenaBytes())
                    .isEqualTo(training(memopt.plans()).arenaBytes());
        }
    }

    private static long arenaBytes() {
        return arenaBytes(MemoryHooks.recording().ledger());
    }

    private static long arenaBytes(MemoryLedger ledger) {
        return ledger.accounts().stream()
                .filter(account -> account.name().equals("MEMOPT_ARENA"))
                .mapToLong(account -> account.reservedBytes(MemorySpace.HOST))
                .sum();
    }

    // ---- helpers

    private static List<PlanRow> compare(Supplier<Model> network, ObjIntConsumer<Model> step) {
        MemoryHooks.uninstall();
        Diary plain = train(network.get(), null, step, new ArrayList<>());
        List<PlanRow> plans = new ArrayList<>();
        Diary planned = train(network.get(), PLANNED, step, plans);
        planned.assertSameAs(plain);
        return plans;
    }

    private static Diary train(Model model, MemOptConfig config, ObjIntConsumer<Model> step, List<PlanRow> plans) {
        Nd4j.getRandom().setSeed(7);
        MemOpt memopt = config == null ? null : MemOpt.attach(model, config);
        Diary diary = new Diary();
        for (int i = 0; i < ITERATIONS; i++) {
            step.accept(model, i);
            diary.score(model);
        }
        diary.close(model);
        if (memopt != null) {
            plans.addAll(memopt.plans());
            memopt.close();
        }
        return diary;
    }

    private static PlanRow training(List<PlanRow> plans) {
        return plans.stream()
                .filter(plan -> plan.pass().startsWith("WS_ALL_LAYERS_ACT batch"))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no plan of a training pass in " + plans));
    }

    private static Model dense(IActivation activation) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(123)
                .updater(new Adam(1e-3))
                .list();
        for (int i = 0; i < 3; i++) {
            list.layer(new DenseLayer.Builder()
                    .nIn(32)
                    .nOut(32)
                    .activation(activation)
                    .build());
        }
        MultiLayerNetwork network = new MultiLayerNetwork(list.layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nIn(32)
                        .nOut(10)
                        .activation(Activation.SOFTMAX)
                        .build())
                .build());
        network.init();
        return network;
    }

    private static DataSet data(int iteration) {
        INDArray features = Nd4j.linspace(iteration, iteration + 1, 8 * 32)
                .reshape(8, 32)
                .castTo(org.nd4j.linalg.api.buffer.DataType.FLOAT);
        INDArray labels = Nd4j.zeros(8, 10);
        for (int i = 0; i < 8; i++) {
            labels.putScalar(i, (i + iteration) % 10, 1);
        }
        return new DataSet(features, labels);
    }

    private static void fit(Model model, int iteration) {
        fit(model, data(iteration));
    }

    private static void fit(Model model, DataSet data) {
        Networks.fit(model, data);
    }

    /** True when {@code until} came true. */
    @SuppressWarnings("BusyWait")
    private static boolean collectGarbage(BooleanSupplier until, int times) {
        for (int i = 0; i < times && !until.getAsBoolean(); i++) {
            System.gc();
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        return until.getAsBoolean();
    }
}
