// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.OwnerUsage;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.zoo.model.ResNet50;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** A deep graph of 175 vertices; takes half a minute, hence the tag. */
@Tag("soak")
class ZooAttributionTest {

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void resNet50_at96_attributesWorkspaceAndTensorBytes() {
        MemoryHooks.uninstall();
        MemoryLedger ledger = MemoryHooks.install().ledger();
        ComputationGraph graph = ResNet50.builder()
                .seed(123)
                .numClasses(10)
                .inputShape(new int[] {3, 96, 96})
                .build()
                .init();
        INDArray labels = Nd4j.zeros(4, 10);
        labels.putColumn(3, Nd4j.ones(4));
        try (MemOpt memopt = MemOpt.attach(graph)) {
            for (int i = 0; i < 3; i++) {
                graph.fit(new INDArray[] {Nd4j.rand(4, 3, 96, 96)}, new INDArray[] {labels});
            }
            System.out.println(memopt.summary());
            assertThat(memopt.summary().attributedShare()).isGreaterThan(0.95);
            assertThat(ownedShareOfWorkspaces(ledger)).isGreaterThan(0.99);
        }
    }

    private static double ownedShareOfWorkspaces(MemoryLedger ledger) {
        long all = 0;
        long owned = 0;
        for (OwnerUsage usage : ledger.usage()) {
            if (!usage.owner().workspace().isEmpty()) {
                all += usage.allocatedBytes();
                boolean known =
                        !usage.owner().network().isEmpty() && usage.owner().category() != Category.OTHER;
                owned += known ? usage.allocatedBytes() : 0;
            }
        }
        System.out.printf("workspace bytes with network, phase and category: %.3f %%%n", 100.0 * owned / all);
        return (double) owned / all;
    }
}
