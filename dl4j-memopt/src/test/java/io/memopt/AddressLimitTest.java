// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.memopt.guard.OutOfMemory;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.dataset.DataSet;

/**
 * A process whose address space is limited for real, by {@code prlimit}, amid training: the C library refuses, nothing is planted.
 * The network goes on in micro-batches and ends with the parameters of one that had trained so from that iteration on.
 */
@Tag("soak")
class AddressLimitTest {
    @TempDir
    Path reports;

    @Test
    void realRefusals_areSurvived() throws IOException, InterruptedException {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/prlimit")), "prlimit is not installed");
        ChildJvm.Result child = ChildJvm.of(LimitedTraining.class, reports.toString())
                .options("-Xmx512m", "-Xms512m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC")
                .run()
                .ok();

        assertThat(child.number("recovered")).isEqualTo(1);
        assertThat(child.number("iterations")).isEqualTo(5);
        assertThat(child.text("same")).isEqualTo("true");
        assertThat(child.text("report")).contains("std::bad_alloc", "Asked for: ");
    }

    /** Trains twice: under the limit, and as the first came through. */
    static final class LimitedTraining {
        private static final int BATCH = 512;

        private LimitedTraining() {}

        public static void main(String[] args) throws IOException, InterruptedException {
            Path reports = Path.of(args[0]);
            DataSet[] data = new DataSet[5];
            Arrays.setAll(data, i -> Networks.LENET.data(BATCH, i));
            MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
            Networks.LENET.create(WorkspaceMode.ENABLED).score();
            String note;
            try (MemOpt memopt = MemOpt.attach(
                    network,
                    MemOptConfig.builder()
                            .outOfMemory(OutOfMemory.RECOVER)
                            .postMortems(reports)
                            .build())) {
                network.fit(small());
                AddressSpace.limit(AddressSpace.bytes() + (100L << 20));
                for (DataSet each : data) {
                    network.fit(each);
                }
                AddressSpace.limit(AddressSpace.UNLIMITED);
                note = memopt.summary().notes().stream()
                        .filter(each -> each.contains("ran out of memory"))
                        .findFirst()
                        .orElse("");
            }
            System.out.println("note=" + note);
            System.out.println("recovered=" + note.replaceAll("^(\\d+) iterations?.*", "$1"));
            System.out.println("iterations=" + (network.getIterationCount() - 1));
            System.out.println("same=" + Arrays.equals(bits(network), bits(reference(note, data))));
            try (var files = Files.list(reports)) {
                Path text = files.filter(file -> file.toString().endsWith(".txt"))
                        .findFirst()
                        .orElseThrow();
                System.out.println("report=" + Files.readString(text).replace('\n', ' '));
            }
        }

        private static DataSet small() {
            return Networks.LENET.data(2, 99);
        }

        private static MultiLayerNetwork reference(String note, DataSet[] data) {
            MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
            network.fit(small());
            MemOptConfig config = note.contains("micro-batches of ")
                    ? MemOptConfig.builder()
                            .microBatch(Integer.parseInt(note.replaceAll(".*micro-batches of (\\d+).*", "$1")))
                            .build()
                    : MemOptConfig.defaults();
            try (MemOpt memopt = MemOpt.attach(network, config)) {
                for (DataSet each : data) {
                    network.fit(each);
                }
                return memopt.isActive() ? network : new MultiLayerNetwork(network.getLayerWiseConfigurations());
            }
        }

        private static byte[] bits(MultiLayerNetwork network) {
            return network.params().data().asBytes();
        }
    }
}
