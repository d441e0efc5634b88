// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.memopt.listeners.training.MemoryListener;
import io.memopt.testing.Networks;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.listeners.CollectScoresIterationListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.cpu.nativecpu.workspace.CpuWorkspaceManager;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOpsHolder;

/** Hooks in every order and company in which users put them. What depends on ND4J's start runs in a JVM of its own. */
class HooksCombinationsTest {
    @BeforeEach
    @AfterEach
    void uninstall() {
        assertThat(Nd4j.getBackend()).as("started").isNotNull();
        MemoryHooks.uninstall();
    }

    // ---- ND4J's start

    @Test
    void dependencyAlone_beforeAnyCallOfOurs_recordsFromNd4jsStart() throws Exception {
        ChildJvm.Result child = ChildJvm.of(DependencyAlone.class).run().ok();

        assertThat(child.text("hooked")).isEqualTo("true");
        assertThat(child.number("array")).isEqualTo(1_000_000 * 4);
        assertThat(child.number("parameters")).isEqualTo(child.number("expectedParameters"));
        assertThat(child.number("booked"))
                .as("booked when allocated, not when adopted")
                .isPositive();
        assertThat(child.number("workspaces")).isPositive();
        assertThat(child.err()).doesNotContain("WARN", "ERROR");
    }

    @Test
    void earlySwitchedOff_lateAttach_adoptsParametersAndUnknownSwitchIsNamed() throws Exception {
        ChildJvm.Result child = ChildJvm.of(LateAttach.class)
                .options("-Dmemopt.early=false", "-Dmemopt.erly=true")
                .run()
                .ok();

        assertThat(child.text("hookedBefore")).isEqualTo("false");
        assertThat(child.text("hookedAfter")).isEqualTo("true");
        assertThat(child.number("parameters")).isEqualTo(child.number("expectedParameters"));
        assertThat(child.number("gradients")).isEqualTo(child.number("expectedParameters"));
        assertThat(child.number("updaterState")).isEqualTo(2 * child.number("expectedParameters"));
        assertThat(child.text("layers")).contains("conv2 BACKWARD");
        assertThat(child.err())
                .containsOnlyOnce(
                        "memopt.erly=true is not known and has no effect. Known are memopt.early, memopt.enabled, memopt.nvtx, memopt.updateBaselines.");
    }

    @Test
    void everythingSwitchedOff_attachAndListener_touchNothing() throws Exception {
        ChildJvm.Result child = ChildJvm.of(SwitchedOff.class)
                .options("-Dmemopt.enabled=false")
                .run()
                .ok();

        assertThat(child.text("ops")).startsWith("org.nd4j.");
        assertThat(child.text("manager")).isEqualTo(CpuWorkspaceManager.class.getName());
        assertThat(child.text("active")).isEqualTo("false");
        assertThat(child.text("listeners")).isEqualTo("1");
        assertThat(child.text("notes")).contains("Nothing was observed").contains("memopt.enabled");
        assertThat(child.text("explained")).contains("Nothing was recorded");
    }

    @Test
    void usersWorkspaceManager_isRespectedWithAMessage_bytesAreStillCounted() throws Exception {
        ChildJvm.Result child = ChildJvm.of(UsersManager.class)
                .options("-Dworkspacemanager=" + OwnWorkspaceManager.class.getName())
                .run()
                .ok();

        assertThat(child.text("manager")).isEqualTo(OwnWorkspaceManager.class.getName());
        assertThat(child.err()).contains("workspacemanager=" + OwnWorkspaceManager.class.getName() + " is respected");
        assertThat(child.err()).containsOnlyOnce("is not ND4J's own and stays in place: bytes are counted");
        assertThat(child.number("array")).isEqualTo(4_000_000);
        assertThat(child.number("parameters")).isEqualTo(child.number("expectedParameters"));
        assertThat(child.number("blocks")).as("workspace blocks").isGreaterThanOrEqualTo(child.number("currentSizes"));
        assertThat(child.text("managerAfterClose")).isEqualTo(OwnWorkspaceManager.class.getName());
    }

    @Test
    void noBackend_onClassPath_nd4jsOwnErrorIsSeen() throws Exception {
        ChildJvm.Result child =
                ChildJvm.of(NoBackend.class).classPathWithout("nd4j-native").run();

        assertThat(child.exit()).isNotZero();
        assertThat(child.err()).contains("NoAvailableBackendException").doesNotContain("io.memopt.allocator");
    }

    // ---- handles

    @Test
    void twoHandles_closedInEitherOrder_observationEndsWithTheLast() {
        MultiLayerNetwork network = Networks.mlp(4, 5, 3);
        for (boolean firstFirst : new boolean[] {true, false}) {
            MemOpt first = MemOpt.attach(network);
            MemOpt second = MemOpt.attach(network);
            assertThat(first.name()).isEqualTo(second.name());

            (firstFirst ? first : second).close();
            fit(network);
            assertThat((firstFirst ? second : first).summary().iterations()).isEqualTo(1);
            assertThat(network.getListeners()).hasSize(1);

            (firstFirst ? second : first).close();
            first.close();
            assertThat(network.getListeners()).isEmpty();
            assertThat(MemoryHooks.installed()).isFalse();
        }
    }

    @Test
    void handleOfCollectedNetwork_stillOpen_doesNotKeepTheNextOneAttached() {
        MemOpt lost = MemOpt.attach(Networks.mlp(4, 5, 3));
        until(() -> {
            MemOpt probe = MemOpt.attach(Networks.mlp(2, 2, 2));
            probe.close();
            return probe.name().equals(lost.name());
        });

        MultiLayerNetwork network = Networks.mlp(4, 5, 3);
        MemOpt memopt = MemOpt.attach(network);
        assertThat(memopt.name()).as("the name is free again").isEqualTo(lost.name());
        memopt.close();

        assertThat(network.getListeners()).isEmpty();
        assertThat(MemoryHooks.installed()).isFalse();
        lost.close();
    }

    @Test
    void listenerAddedByHand_afterCloseOfHandle_staysAndGoesOn() {
        MultiLayerNetwork network = Networks.mlp(4, 5, 3);
        network.setListeners(new MemoryListener());
        fit(network);
        MemoryLedger ledger = MemoryHooks.recording().ledger();

        MemOpt.attach(network).close();
        long before = phaseBytes(ledger, "BACKWARD");
        fit(network);

        assertThat(network.getListeners()).hasSize(1);
        assertThat(MemoryHooks.installed()).isTrue();
        assertThat(phaseBytes(ledger, "BACKWARD")).isGreaterThan(before);
    }

    @Test
    void attach_beforeAndAfterFirstFit_givesTheSameLayers() {
        Set<String> before = layersOf(false);
        Set<String> after = layersOf(true);

        assertThat(before).contains("conv1 FORWARD", "conv1 BACKWARD", "out SCORE");
        assertThat(after).isEqualTo(before);
    }

    private static Set<String> layersOf(boolean late) {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        if (late) {
            Networks.fit(model, Networks.LENET.data(4, 1));
        }
        try (MemOpt memopt = MemOpt.attach(model)) {
            for (int i = 0; i < 3; i++) {
                Networks.fit(model, Networks.LENET.data(4, i));
            }
            return layers(ledger(), memopt.name());
        }
    }

    @Test
    void attach_insideAnOpenScope_leavesItUsableAndRecords() {
        MultiLayerNetwork network = Networks.mlp(4, 5, 3);
        WorkspaceConfiguration configuration =
                WorkspaceConfiguration.builder().initialSize(1 << 20).build();
        MemOpt memopt;
        try (MemoryWorkspace scope = Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, "USERS")) {
            INDArray inside = Nd4j.ones(100);
            memopt = MemOpt.attach(network);
            INDArray later = Nd4j.ones(100);

            fit(network);
            assertThat(inside.sumNumber().intValue() + later.sumNumber().intValue())
                    .isEqualTo(200);
            assertThat(later.isAttached()).isTrue();
            memopt.close();
            assertThat(inside.sumNumber().intValue()).isEqualTo(100);
            memopt = MemOpt.attach(network);
        }
        fit(network);

        assertThat(Nd4j.getMemoryManager().getCurrentWorkspace()).isNull();
        assertThat(layers(ledger(), memopt.name())).contains("layer0 BACKWARD");
        memopt.close();
    }

    @Test
    void listenersReplacedByUser_afterAttach_phasesAreStillRight() {
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt = MemOpt.attach(model)) {
            model.setListeners(new CollectScoresIterationListener());
            for (int i = 0; i < 3; i++) {
                Networks.fit(model, Networks.LENET.data(4, i));
            }

            assertThat(layers(ledger(), memopt.name()))
                    .contains("conv1 FORWARD", "dense FORWARD", "conv1 BACKWARD", "out BACKWARD", "out SCORE")
                    .noneMatch(layer -> layer.endsWith("INFERENCE"));
        }
        assertThat(((MultiLayerNetwork) model).getListeners()).hasSize(1);
    }

    @Test
    void detach_amidTraining_trainingGoesOnBitwise() {
        for (Networks family : new Networks[] {Networks.VGG, Networks.RESIDUAL_GRAPH}) {
            INDArray plain = trainWithDetach(family, false);
            INDArray detached = trainWithDetach(family, true);

            assertThat(detached.data().asFloat()).containsExactly(plain.data().asFloat());
        }
    }

    @Test
    void attachAndDetach_whileAnotherThreadTrains_neitherStopsNorChangesIt() throws Exception {
        INDArray plain = train(Networks.LENET, 40);
        ExecutorService pool = Executors.newSingleThreadExecutor();
        Future<INDArray> training = pool.submit(() -> train(Networks.LENET, 40));
        int attached = 0;
        MultiLayerNetwork other = Networks.mlp(2, 2, 2);
        while (!training.isDone()) {
            try (MemOpt memopt = MemOpt.attach(other)) {
                attached += memopt.isActive() ? 1 : 0;
                fit(other);
            }
        }
        pool.shutdown();

        assertThat(training.get().data().asFloat()).containsExactly(plain.data().asFloat());
        assertThat(attached).isGreaterThan(1);
    }

    private static INDArray train(Networks family, int iterations) {
        Model model = family.create(WorkspaceMode.ENABLED);
        for (int i = 0; i < iterations; i++) {
            Networks.fit(model, family.data(4, i));
        }
        return model.params().dup();
    }

    private static INDArray trainWithDetach(Networks family, boolean attach) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        for (int i = 0; i < 9; i++) {
            MemOpt memopt = attach && i % 3 == 1 ? MemOpt.attach(model) : null;
            Networks.fit(model, family.data(4, i));
            if (memopt != null) {
                memopt.detach();
            }
        }
        return model.params().dup();
    }

    // ---- several networks

    @Test
    void networksOnOneThread_alternating_keepTheirOwnLayers() {
        Model lenet = Networks.LENET.create(WorkspaceMode.ENABLED);
        Model graph = Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        Model lstm = Networks.LSTM_TEXT.create(WorkspaceMode.ENABLED);
        try (MemOpt first = MemOpt.attach(lenet);
                MemOpt second = MemOpt.attach(graph);
                MemOpt third = MemOpt.attach(lstm)) {
            for (int i = 0; i < 3; i++) {
                Networks.fit(lenet, Networks.LENET.data(4, i));
                Networks.fit(graph, Networks.RESIDUAL_GRAPH.data(4, i));
                ((MultiLayerNetwork) lenet).output(Networks.LENET.data(4, i).getFeatures());
                Networks.fit(lstm, Networks.LSTM_TEXT.data(4, i));
            }

            assertThat(names(layers(ledger(), first.name())))
                    .containsExactlyInAnyOrder("conv1", "pool1", "conv2", "pool2", "dense", "out");
            assertThat(names(layers(ledger(), second.name())))
                    .contains("c1", "c2", "bn", "add", "relu", "gap", "out")
                    .doesNotContain("conv1", "lstm1");
            assertThat(names(layers(ledger(), third.name()))).containsExactlyInAnyOrder("lstm1", "lstm2", "out");
            assertThat(layers(ledger(), first.name())).contains("conv2 INFERENCE");
            assertThat(layers(ledger(), second.name())).noneMatch(layer -> layer.endsWith("INFERENCE"));
            assertThat(workspaceBytesWithoutNetwork(ledger())).isZero();
        }
    }

    @Test
    void threads_eachWithANetwork_keepTheirOwnLayersAndWorkspaces() throws Exception {
        List<Networks> families = List.of(Networks.LENET, Networks.LSTM_TEXT, Networks.RESIDUAL_GRAPH);
        ExecutorService pool = Executors.newFixedThreadPool(families.size());
        List<MemOpt> handles = new ArrayList<>();
        List<Future<?>> runs = new ArrayList<>();
        List<Model> models = new ArrayList<>();
        for (Networks family : families) {
            Model model = family.create(WorkspaceMode.ENABLED);
            models.add(model);
            handles.add(MemOpt.attach(model));
            runs.add(pool.submit(() -> {
                for (int i = 0; i < 5; i++) {
                    Networks.fit(model, family.data(4, i));
                }
            }));
        }
        for (Future<?> run : runs) {
            run.get(60, TimeUnit.SECONDS);
        }

        assertThat(names(layers(ledger(), handles.get(0).name())))
                .containsExactlyInAnyOrder("conv1", "pool1", "conv2", "pool2", "dense", "out");
        assertThat(names(layers(ledger(), handles.get(1).name()))).containsExactlyInAnyOrder("lstm1", "lstm2", "out");
        assertThat(names(layers(ledger(), handles.get(2).name()))).contains("c1", "add", "out");
        assertThat(workspaceBytesWithoutNetwork(ledger())).isZero();
        assertThat(ledger().accounts().stream()
                        .filter(account -> account.reservedBytes(MemorySpace.HOST) > 0)
                        .map(WorkspaceAccount::threadId)
                        .distinct())
                .hasSize(3);
        assertThat(handles.get(0).summary().iterations()).isEqualTo(15);
        handles.forEach(MemOpt::close);
        pool.shutdown();
        assertThat(models).hasSize(3);
    }

    @Test
    void network_droppedAndCollected_isForgottenWithItsMeters() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        MultiLayerNetwork kept = Networks.mlp(3, 3, 3);
        try (MemOpt memopt = MemOpt.attach(kept).bindTo(registry)) {
            String lost = attachAndDrop();
            assertThat(meters(registry, lost)).isPositive();
            assertThat(meters(registry, memopt.name())).isPositive();

            until(() -> meters(registry, lost) == 0);

            assertThat(meters(registry, lost)).isZero();
            assertThat(meters(registry, memopt.name())).isPositive();
            MultiLayerNetwork next = Networks.mlp(3, 3, 3);
            MemOpt reused = MemOpt.attach(next);
            assertThat(reused.name()).isEqualTo(lost);
            reused.close();
            assertThat(next.getListeners()).isEmpty();
        }
    }

    private static String attachAndDrop() {
        MultiLayerNetwork network = Networks.mlp(3, 3, 3);
        MemOpt memopt = MemOpt.attach(network);
        fit(network);
        return memopt.name();
    }

    private static long meters(SimpleMeterRegistry registry, String network) {
        return registry.getMeters().stream()
                .filter(meter -> meter.getId().getTags().stream()
                        .anyMatch(tag -> tag.getValue().equals(network)))
                .count();
    }

    // ---- helpers

    static void fit(MultiLayerNetwork network) {
        int in = (int) network.getLayer(0).getParam("W").size(0);
        int out = network.layerSize(network.getnLayers() - 1);
        network.fit(Nd4j.ones(2, in), Nd4j.ones(2, out));
    }

    private static MemoryLedger ledger() {
        return MemoryHooks.recording().ledger();
    }

    private static long phaseBytes(MemoryLedger ledger, String phase) {
        return ledger.usage().stream()
                .filter(usage -> usage.owner().phase().name().equals(phase))
                .mapToLong(OwnerUsage::allocatedBytes)
                .sum();
    }

    /** "layer PHASE" of everything that was placed in workspaces for {@code network}. */
    static Set<String> layers(MemoryLedger ledger, String network) {
        return ledger.usage().stream()
                .filter(usage -> usage.owner().network().equals(network)
                        && !usage.owner().workspace().isEmpty()
                        && !usage.owner().layer().isEmpty())
                .map(usage -> usage.owner().layer() + " " + usage.owner().phase())
                .collect(Collectors.toSet());
    }

    private static Set<String> names(Set<String> layers) {
        return layers.stream()
                .map(layer -> layer.substring(0, layer.indexOf(" ")))
                .collect(Collectors.toSet());
    }

    private static long workspaceBytesWithoutNetwork(MemoryLedger ledger) {
        return ledger.usage().stream()
                .filter(usage -> usage.owner().network().isEmpty()
                        && usage.owner().workspace().startsWith("WS_"))
                .mapToLong(OwnerUsage::allocatedBytes)
                .sum();
    }

    private static void until(BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean() && System.nanoTime() < end) {
            System.gc();
            Thread.onSpinWait();
        }
    }

    private static void print(String key, Object value) {
        System.out.println(key + "=" + value);
    }

    private static boolean hooked() {
        return !NativeOpsHolder.getInstance()
                .getDeviceNativeOps()
                .getClass()
                .getName()
                .startsWith("org.nd4j.");
    }

    private static long arrayGrowth() {
        long before = ledger().inUseBytes(MemorySpace.HOST);
        INDArray array = Nd4j.createUninitialized(1_000_000);
        long growth = ledger().inUseBytes(MemorySpace.HOST) - before;
        array.close();
        return growth;
    }

    // ---- programs of child JVMs

    static final class DependencyAlone {
        private DependencyAlone() {}

        public static void main(String[] args) {
            MultiLayerNetwork network = Networks.mlp(100, 200, 10);
            print("hooked", hooked());
            long unclassified = ledger().inUseBytes(Category.OTHER);
            fit(network);
            print("array", arrayGrowth());
            print("booked", unclassified - network.numParams() * 4);
            try (MemOpt memopt = MemOpt.attach(network)) {
                fit(network);
                print("parameters", ledger().inUseBytes(Category.PARAMETERS));
                print("expectedParameters", network.numParams() * 4);
                print("workspaces", memopt.summary().workspaces().size());
            }
        }
    }

    static final class LateAttach {
        private LateAttach() {}

        public static void main(String[] args) {
            Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
            Networks.fit(model, Networks.LENET.data(4, 0));
            print("hookedBefore", hooked());
            MemOpt memopt = MemOpt.attach(model);
            print("hookedAfter", hooked());
            for (int i = 0; i < 3; i++) {
                Networks.fit(model, Networks.LENET.data(4, i));
            }
            print("expectedParameters", model.numParams() * 4);
            print("parameters", ledger().inUseBytes(Category.PARAMETERS));
            print("gradients", ledger().inUseBytes(Category.GRADIENTS));
            print("updaterState", ledger().inUseBytes(Category.UPDATER_STATE));
            print("layers", layers(ledger(), memopt.name()));
        }
    }

    static final class SwitchedOff {
        private SwitchedOff() {}

        public static void main(String[] args) {
            MultiLayerNetwork network = Networks.mlp(4, 5, 3);
            network.setListeners(new MemoryListener());
            MemOpt memopt = MemOpt.attach(network);
            fit(network);
            print(
                    "ops",
                    NativeOpsHolder.getInstance()
                            .getDeviceNativeOps()
                            .getClass()
                            .getName());
            print("manager", Nd4j.getWorkspaceManager().getClass().getName());
            print("active", memopt.isActive());
            print("listeners", network.getListeners().size());
            print("notes", memopt.summary().notes());
            print("explained", MemOpt.explain(new OutOfMemoryError("Java heap space")));
        }
    }

    static final class UsersManager {
        private UsersManager() {}

        public static void main(String[] args) {
            MultiLayerNetwork network = Networks.mlp(100, 200, 10);
            MemOpt memopt = MemOpt.attach(network);
            MemOpt.attach(network).close();
            for (int i = 0; i < 8; i++) {
                fit(network);
            }
            print("manager", Nd4j.getWorkspaceManager().getClass().getName());
            print("array", arrayGrowth());
            print("parameters", ledger().inUseBytes(Category.PARAMETERS));
            print("expectedParameters", network.numParams() * 4);
            print(
                    "currentSizes",
                    Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread().stream()
                            .mapToLong(MemoryWorkspace::getCurrentSize)
                            .sum());
            print("blocks", ledger().reservedBytes(MemorySpace.HOST) - network.numParams() * 8);
            memopt.close();
            print("managerAfterClose", Nd4j.getWorkspaceManager().getClass().getName());
        }
    }

    /** What a user might have put in before us. */
    public static final class OwnWorkspaceManager extends CpuWorkspaceManager {}

    static final class NoBackend {
        private NoBackend() {}

        public static void main(String[] args) {
            Nd4j.create(3);
        }
    }
}
