// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.testing.Networks;
import java.util.Map;
import java.util.TreeMap;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class AttributionTest {
    private MemoryLedger ledger;

    @BeforeEach
    void install() {
        MemoryHooks.uninstall();
        ledger = MemoryHooks.install().ledger();
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void lenet_oneIteration_allocationsPerLayerAndPhaseAsMeasuredByAnExactTracer() {
        Model model = trained(Networks.LENET, 3);
        Map<String, Long> before = allocations();

        Networks.fit(model, Networks.LENET.data(8, 3));
        Map<String, Long> counts = difference(allocations(), before);

        // Figures of a bytecode tracer, less what dropout adds there; the preprocessor's array is given to its layer.
        assertThat(counts)
                .containsEntry("conv1 FORWARD", 2L)
                .containsEntry("pool1 FORWARD", 1L)
                .containsEntry("conv2 FORWARD", 2L)
                .containsEntry("pool2 FORWARD", 1L)
                .containsEntry("dense FORWARD", 2L)
                .containsEntry("out BACKWARD", 5L)
                .containsEntry("dense BACKWARD", 4L)
                .containsEntry("pool2 BACKWARD", 1L)
                .containsEntry("conv2 BACKWARD", 7L)
                .containsEntry("pool1 BACKWARD", 1L)
                .containsEntry("conv1 BACKWARD", 8L)
                .containsEntry("out SCORE", 4L);
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void training_everyFamily_attributesBytes(Networks family) {
        trained(family, 3);

        long all = 0;
        long attributed = 0;
        long workspaceBytes = 0;
        long layered = 0;
        for (OwnerUsage usage : ledger.usage()) {
            all += usage.allocatedBytes();
            attributed += usage.owner().isAttributed() ? usage.allocatedBytes() : 0;
            if (!usage.owner().workspace().isEmpty()) {
                workspaceBytes += usage.allocatedBytes();
                layered += usage.owner().network().isEmpty() ? 0 : usage.allocatedBytes();
            }
        }
        assertThat((double) attributed / all).isGreaterThan(0.95);
        assertThat((double) layered / workspaceBytes).isGreaterThan(0.99);
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void flatArrays_afterTraining_areClassifiedToTheByte(Networks family) {
        Model model = trained(family, 2);

        long parameters = model.params().length() * 4;
        assertThat(ledger.inUseBytes(Category.PARAMETERS)).isEqualTo(parameters);
        assertThat(ledger.inUseBytes(Category.GRADIENTS)).isEqualTo(parameters);
        assertThat(ledger.inUseBytes(Category.UPDATER_STATE)).isPositive().isLessThanOrEqualTo(2 * parameters);
        assertThat(ledger.inUseBytes(Category.INPUT)).isPositive();
    }

    @Test
    void nameThatIsGivenAgain_hasOnlyWhatTheNextNetworkHolds() {
        Model earlier = Networks.LENET.create(WorkspaceMode.ENABLED);
        Model next = Networks.LENET.create(WorkspaceMode.ENABLED);
        TrainingTracker tracker = new TrainingTracker(MemoryHooks.install());
        String name = tracker.track(earlier);
        tracker.untrack(earlier);

        assertThat(tracker.track(next)).isEqualTo(name);

        assertThat(parameterBytes(name)).isEqualTo(next.params().length() * 4);
        assertThat(parameterBytes("")).isEqualTo(earlier.params().length() * 4);
        tracker.close();
    }

    private long parameterBytes(String network) {
        return ledger.usage().stream()
                .filter(usage -> usage.owner().category() == Category.PARAMETERS
                        && usage.owner().network().equals(network))
                .mapToLong(OwnerUsage::liveBytes)
                .sum();
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "RESIDUAL_GRAPH", "LSTM_TEXT"})
    void output_afterTraining_isInferenceByLayer(Networks family) {
        Model model = trained(family, 2);
        Map<String, Long> before = allocations();

        output(model, family);
        output(model, family);

        Map<String, Long> counts = difference(allocations(), before);
        assertThat(counts.keySet()).noneMatch(key -> key.endsWith("FORWARD") || key.endsWith("BACKWARD"));
        NetworkLayout layout = NetworkLayout.of(model);
        for (String layer : layout.inference()) {
            assertThat(counts.getOrDefault(layer + " INFERENCE", 0L) % 2)
                    .as(layer)
                    .isZero();
        }
        assertThat(counts).hasSizeGreaterThan(1);
        assertThat(ledger.usage())
                .as("the results, detached by the output layer")
                .anyMatch(usage -> usage.owner().layer().equals(layout.outputs().get(0))
                        && usage.owner().phase() == Phase.INFERENCE
                        && usage.allocatedBytes() >= 2 * 8 * Networks.CLASSES * 4);
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void withoutWorkspaces_phasesComeFromCallbacks_layersUnknown(Networks family) {
        Model model = family.create(WorkspaceMode.NONE);
        model.setListeners(new MemoryListener());
        for (int i = 0; i < 3; i++) {
            Networks.fit(model, family.data(4, i));
        }

        assertThat(ledger.usage())
                .filteredOn(usage -> usage.owner().phase() == Phase.BACKWARD)
                .isNotEmpty()
                .allMatch(usage -> usage.owner().layer().isEmpty());
    }

    @Test
    void peak_ofTraining_namesNetworkAndIteration() {
        trained(Networks.VGG, 3);

        assertThat(ledger.inUsePeak().bytes()).isGreaterThan(ledger.inUseBytes(MemorySpace.HOST) / 2);
        assertThat(ledger.inUsePeak().owner().network()).isEqualTo("MultiLayerNetwork-1");
        assertThat(ledger.inUsePeak().inUse()).containsKey(Category.PARAMETERS);
    }

    private static Model trained(Networks family, int iterations) {
        Model model = family.create(WorkspaceMode.ENABLED);
        Trackers.current().track(model);
        model.setListeners(new MemoryListener());
        for (int i = 0; i < iterations; i++) {
            Networks.fit(model, family.data(8, i));
        }
        return model;
    }

    private static void output(Model model, Networks family) {
        if (model instanceof MultiLayerNetwork network) {
            network.output(family.data(8, 5).getFeatures());
        } else {
            ((ComputationGraph) model).output(family.data(8, 5).getFeatures());
        }
    }

    /** Workspace allocations by layer and phase. */
    private Map<String, Long> allocations() {
        Map<String, Long> counts = new TreeMap<>();
        for (OwnerUsage usage : ledger.usage()) {
            Owner owner = usage.owner();
            if (!owner.workspace().isEmpty() && !owner.layer().isEmpty()) {
                counts.merge(owner.layer() + " " + owner.phase(), usage.allocations(), Long::sum);
            }
        }
        return counts;
    }

    private static Map<String, Long> difference(Map<String, Long> after, Map<String, Long> before) {
        Map<String, Long> result = new TreeMap<>();
        after.forEach((key, count) -> result.put(key, count - before.getOrDefault(key, 0L)));
        result.values().removeIf(count -> count == 0);
        return result;
    }
}
