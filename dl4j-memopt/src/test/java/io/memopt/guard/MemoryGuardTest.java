// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.oom.Cause;
import io.memopt.oom.PostMortem;
import io.memopt.oom.Remedy;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks that meet an exact limit: they go on in a way that fits, with the results of a run that had gone that way. */
class MemoryGuardTest {
    private static final int BATCH = 32;

    @TempDir
    Path reports;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    private MemOptConfig.Builder guarded(OutOfMemory mode) {
        return MemOptConfig.builder().outOfMemory(mode).postMortems(reports);
    }

    private static MultiLayerNetwork lenet() {
        return (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
    }

    private static DataSet data(int iteration) {
        return Networks.LENET.data(BATCH, iteration);
    }

    /** What ND4J holds before an iteration, with room for a share of what one takes plainly. */
    private static AllocationLimit limited(double share) {
        AllocationLimit counting = MemoryHooks.limit(AllocationLimit.NONE);
        // A batch of 32 takes about 35 MB in its first iteration.
        counting.limit(counting.liveBytes() + (long) (share * (35 << 20)));
        return counting;
    }

    @Test
    void limitBelowPlain_goesOnPlanned_bitForBit() throws IOException {
        MultiLayerNetwork plain = lenet();
        MultiLayerNetwork network = lenet();
        List<DataSet> batches = List.of(data(0), data(1), data(2), data(3));
        batches.forEach(plain::fit);

        try (MemOpt memopt =
                MemOpt.attach(network, guarded(OutOfMemory.RECOVER_BITWISE).build())) {
            AllocationLimit limit = limited(0.5);
            network.fit(new ExistingDataSetIterator(batches));

            assertThat(limit.refusals()).isPositive();
            assertThat(limit.liveBytes()).isLessThanOrEqualTo(limit.limitBytes());
            assertThat(memopt.plans()).anyMatch(plan -> plan.served() > 0);
            assertThat(memopt.summary().notes())
                    .anyMatch(note -> note.contains("done again, the last time by planned"));
        }
        assertThat(network.params().data().asBytes())
                .isEqualTo(plain.params().data().asBytes());
        assertThat(network.getIterationCount()).isEqualTo(4);
        assertThat(files(".txt")).hasSize(1);
        assertThat(files(".json")).hasSize(1);
    }

    @Test
    void limitBelowPlanned_goesOnInParts_asIfItAlwaysHad() throws IOException {
        MultiLayerNetwork network = lenet();
        MultiLayerNetwork reference = lenet();
        List<DataSet> batches = List.of(data(0), data(1), data(2));
        int micro;
        try (MemOpt memopt = MemOpt.attach(network, guarded(OutOfMemory.RECOVER).build())) {
            AllocationLimit limit = limited(0.22);
            batches.forEach(network::fit);
            assertThat(limit.liveBytes()).isLessThanOrEqualTo(limit.limitBytes());
            String note = memopt.summary().notes().stream()
                    .filter(each -> each.contains("micro-batches of "))
                    .findFirst()
                    .orElseThrow();
            micro = Integer.parseInt(note.replaceAll(".*micro-batches of (\\d+).*", "$1"));
            limit.close();
        }
        assertThat(micro).isBetween(1, BATCH / 2);
        try (MemOpt memopt = MemOpt.attach(
                reference, MemOptConfig.builder().microBatch(micro).build())) {
            batches.forEach(reference::fit);
            assertThat(memopt.isActive()).isTrue();
        }
        assertThat(network.params().data().asBytes())
                .isEqualTo(reference.params().data().asBytes());
        assertThat(network.getIterationCount()).isEqualTo(3);
    }

    @Test
    void nothingFits_givesTheOriginalFailure_withThePathOfTheReport() throws IOException {
        MultiLayerNetwork network = lenet();
        network.fit(data(9));
        byte[] before = network.params().data().asBytes();
        DataSet batch = data(0);
        try (MemOpt memopt = MemOpt.attach(network, guarded(OutOfMemory.RECOVER).build())) {
            AllocationLimit limit = MemoryHooks.limit(AllocationLimit.NONE);
            limit.limit(limit.liveBytes());
            Throwable failure = catchThrowable(() -> network.fit(batch));

            assertThat(failure).hasStackTraceContaining("std::bad_alloc");
            assertThat(failure.getSuppressed())
                    .anyMatch(its -> its instanceof PostMortemWritten
                            && String.valueOf(its.getMessage()).contains("memopt-oom-"));
            limit.limit(AllocationLimit.NONE);
            assertThat(network.params().data().asBytes()).isEqualTo(before);
            network.fit(batch);
            assertThat(memopt.isActive()).isTrue();
        }
        assertThat(network.getIterationCount()).isEqualTo(2);
    }

    @Test
    void guardWithoutRecovery_undoesAndReports() throws IOException {
        MultiLayerNetwork network = lenet();
        DataSet batch = data(0);
        try (MemOpt memopt = MemOpt.attach(
                network, guarded(OutOfMemory.GUARD).limitBytes(1L << 40).build())) {
            limited(0.3);
            assertThatThrownBy(() -> network.fit(batch)).hasStackTraceContaining("std::bad_alloc");
            assertThat(memopt.summary().notes()).noneMatch(note -> note.contains("done again"));
        }
        assertThat(network.getIterationCount()).isZero();
        JsonObject json =
                JsonParser.parseString(Files.readString(files(".json").get(0))).getAsJsonObject();
        assertThat(json.get("batch").getAsInt()).isEqualTo(BATCH);
        assertThat(json.get("largestBatch").getAsInt()).isBetween(1, BATCH - 1);
        assertThat(json.getAsJsonObject("request").get("layer").getAsString()).isNotEmpty();
        assertThat(json.getAsJsonArray("remedies")).isNotEmpty();
    }

    @Test
    void reports_areBounded() throws IOException {
        ReportFiles files = ReportFiles.in(reports.resolve("made"));
        PostMortem dead;
        MultiLayerNetwork network = lenet();
        try (MemOpt memopt = MemOpt.attach(network, guarded(OutOfMemory.REPORT).build())) {
            dead = memopt.postMortem(new OutOfMemoryError("Java heap space")).orElseThrow();
        }
        for (int i = 0; i < ReportFiles.MOST; i++) {
            assertThat(files.write(dead)).isPresent();
        }
        assertThat(files.write(dead)).isEmpty();
        try (Stream<Path> all = Files.list(reports.resolve("made"))) {
            assertThat(all).hasSize(2 * ReportFiles.MOST);
        }
    }

    /** Case P13, training: an activation of a terabyte. */
    @Test
    void absurdBatch_inTraining_isExplainedAndSurvived() throws IOException {
        MultiLayerNetwork network = wide();
        INDArray input = Nd4j.zeros(DataType.FLOAT, 1_000_000, 10);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 1_000_000, 2);
        try (MemOpt memopt = MemOpt.attach(network, guarded(OutOfMemory.GUARD).build())) {
            Throwable failure = catchThrowable(() -> network.fit(input, labels));

            assertThat(failure).isNotNull();
            assertThat(memopt.isActive()).isTrue();
        }
        String text = Files.readString(files(".txt").get(0));
        JsonObject json =
                JsonParser.parseString(Files.readString(files(".json").get(0))).getAsJsonObject();
        JsonObject request = json.getAsJsonObject("request");
        assertThat(request.get("bytes").getAsLong()).isEqualTo(1_000_000_000_000L);
        assertThat(request.get("layer").getAsString()).isEqualTo("layer0");
        assertThat(request.get("phase").getAsString()).isEqualTo("forward");
        assertThat(json.get("batch").getAsInt()).isEqualTo(1_000_000);
        assertThat(json.get("largestBatch").getAsInt()).isBetween(100, 999_999);
        assertThat(json.get("cause").getAsString()).isEqualTo("capacity");
        assertThat(text).contains("layer0, forward", "1000000000000 B", "Batch: 1000000");

        network.fit(Nd4j.zeros(DataType.FLOAT, 4, 10), Nd4j.zeros(DataType.FLOAT, 4, 2));
        assertThat(network.getIterationCount()).isEqualTo(1);
    }

    /** Case P13, inference. */
    @Test
    void absurdBatch_inInference_isExplained() throws IOException {
        MultiLayerNetwork network = wide();
        INDArray input = Nd4j.zeros(DataType.FLOAT, 1_000_000, 10);
        try (MemOpt memopt = MemOpt.attach(
                network, MemOptConfig.builder().postMortems(reports).build())) {
            Throwable failure = catchThrowable(() -> network.output(input));
            PostMortem dead = memopt.postMortem(failure).orElseThrow();

            assertThat(dead.layer()).isEqualTo("layer0");
            assertThat(dead.phase()).startsWith("forward");
            assertThat(dead.moment().orElseThrow().owner().phase()).isEqualTo(Phase.INFERENCE);
            assertThat(dead.moment().orElseThrow().requestedBytes()).isEqualTo(1_000_000_000_000L);
            assertThat(dead.batch()).hasValue(1_000_000);
            assertThat(dead.largestBatch().orElseThrow()).isBetween(100, 999_999);
            assertThat(dead.diagnosis().cause()).isEqualTo(Cause.CAPACITY);
            assertThat(dead.remedies())
                    .extracting(Remedy::action)
                    .anyMatch(action -> action.startsWith("Use batches of "));

            assertThat(network.output(Nd4j.zeros(DataType.FLOAT, 4, 10)).rows()).isEqualTo(4);
            assertThat(memopt.postMortem(new IllegalStateException("shapes"))).isEmpty();
        }
        assertThat(files(".txt")).hasSize(1);
    }

    private static MultiLayerNetwork wide() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Adam(0.01))
                .list()
                .layer(new DenseLayer.Builder()
                        .nOut(250_000)
                        .activation(Activation.TANH)
                        .build())
                .layer(new OutputLayer.Builder(LossFunction.MSE)
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .build())
                .setInputType(InputType.feedForward(10))
                .build());
        network.init();
        return network;
    }

    private List<Path> files(String end) throws IOException {
        try (Stream<Path> all = Files.list(reports)) {
            return all.filter(file -> file.toString().endsWith(end)).sorted().toList();
        }
    }
}
