// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.MemoryLimits;
import io.memopt.allocator.recording.ProcessMemory;
import io.memopt.testing.Networks;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** A program that keeps arrays is warned before its limit is met; one that does not is left in peace. */
class HeadroomWatchTest {
    private static final int KEPT_BYTES = 1 << 20;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void growth_warnsOnceBeforeTheLimit_withTheIterationsLeft() throws InterruptedException {
        MultiLayerNetwork network = small();
        DataSet data = new DataSet(Nd4j.rand(4, 3), Nd4j.rand(4, 2));
        List<EarlyWarning> warnings = new ArrayList<>();
        List<INDArray> kept = new ArrayList<>();
        try (MemOpt memopt = MemOpt.attach(
                network, MemOptConfig.builder().limitBytes(1L << 40).build())) {
            memopt.onEarlyWarning(warnings::add);
            AllocationLimit limit = MemoryHooks.currentLimit().orElseThrow();
            limit.limit(limit.liveBytes() + 200L * KEPT_BYTES);
            for (int i = 0; i < 170; i++) {
                kept.add(Nd4j.createUninitialized(DataType.INT8, KEPT_BYTES));
                network.fit(data);
                Thread.sleep(10); // real steps: it looks at most 40 times a second
            }
        }
        assertThat(limitsOf(warnings)).containsExactly("limitBytes");
        EarlyWarning warning = warnings.get(0);
        assertThat(warning.bytesPerIteration()).isBetween(0.99 * KEPT_BYTES, 1.01 * KEPT_BYTES);
        assertThat(warning.iterationsLeft()).isBetween(20.0, 172.0);
        assertThat((double) warning.headroomBytes() / KEPT_BYTES)
                .isBetween(0.99 * warning.iterationsLeft(), 1.01 * warning.iterationsLeft());
        assertThat(kept).hasSize(170);
    }

    @Test
    void steadyTraining_isNotWarnedOf() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        DataSet data = Networks.LENET.data(2, 0);
        List<EarlyWarning> warnings = new ArrayList<>();
        try (MemOpt memopt = MemOpt.attach(
                network, MemOptConfig.builder().limitBytes(1L << 40).build())) {
            memopt.onEarlyWarning(warnings::add);
            AllocationLimit limit = MemoryHooks.currentLimit().orElseThrow();
            for (int i = 0; i < 70; i++) {
                network.fit(data);
                if (i == 30) {
                    limit.limit(limit.liveBytes() + 8 * KEPT_BYTES);
                }
            }
        }
        assertThat(warnings).isEmpty();
    }

    /** Of JavaCPP's cap, which a collection comes before. */
    @ParameterizedTest
    @CsvSource({
        "0, 0, false", // nothing was collected: it may all be garbage
        "1, 0, false",
        "2, 0, true", // the rest was there after both collections
        "2, 1, false" // and went with the second
    })
    void growthNearJavacppsCap_countsOnceItOutlivesCollections(int collections, int freed, boolean warned) {
        AtomicLong clock = new AtomicLong();
        MemoryLedger ledger = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> owner.category());
        long resident = ProcessMemory.residentNow().orElseThrow();
        MemoryLimits limits = new MemoryLimits(
                OptionalLong.empty(),
                OptionalLong.empty(),
                OptionalLong.empty(),
                OptionalLong.empty(),
                OptionalLong.of(resident + 100L * KEPT_BYTES));
        HeadroomWatch watch = new HeadroomWatch(ledger, limits, () -> clock.addAndGet(2_000_000_000L), Runnable::run);
        List<EarlyWarning> warnings = new ArrayList<>();
        watch.addListener(warnings::add);
        MultiLayerNetwork network = small();

        for (int i = 1; i <= 2 * HeadroomWatch.KEPT; i++) {
            ledger.allocated(MemorySpace.HOST, i, i, KEPT_BYTES, KEPT_BYTES);
            if ((i == 20 && collections > 0) || (i == 40 && collections > 1)) {
                ledger.garbageCollected(true, 1);
            }
            if (i == 40 && freed > 0) {
                for (int dead = 1; dead <= 30; dead++) {
                    ledger.freed(dead);
                }
            }
            watch.iterationEnded(network);
        }

        assertThat(limitsOf(warnings)).isEqualTo(warned ? List.of("JavaCPP's physical cap") : List.of());
    }

    private static List<String> limitsOf(List<EarlyWarning> warnings) {
        return warnings.stream().map(EarlyWarning::limit).toList();
    }

    private static MultiLayerNetwork small() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new OutputLayer.Builder().nIn(3).nOut(2).build())
                .build());
        network.init();
        return network;
    }
}
