// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import io.memopt.verify.Attachment;
import io.memopt.verify.TwinRun;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Updater state and checkpoints in mapped files train to the same bits, and need no memory of the process's own. */
class OffloadTest {
    @TempDir
    Path folder;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    private MemOptConfig offloaded() {
        return MemOptConfig.builder().offloadUpdaterState(folder).build();
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void state_inFile_changesNoBit(Networks each) {
        Attachment attachment = model -> MemOpt.attach(model, offloaded());

        TwinRun.of(() -> each.create(WorkspaceMode.ENABLED), (model, i) -> Networks.fit(model, each.data(4, i)))
                .iterations(5)
                .compare(attachment)
                .requireBitwise();
    }

    /** Made in the file, with what its updaters begin with, which is not zero for all of them. */
    @ParameterizedTest
    @MethodSource("updaters")
    void freshState_beginsAsDeeplearning4jsOwn(IUpdater updater) {
        Attachment attachment = model -> MemOpt.attach(model, offloaded());

        TwinRun.of(() -> dense(updater), (model, i) -> ((MultiLayerNetwork) model).fit(minibatch(i)))
                .iterations(3)
                .compare(attachment)
                .requireBitwise();
    }

    static List<IUpdater> updaters() {
        return List.of(new AdaGrad(0.1), new RmsProp(0.01), new AMSGrad(0.01), new Nesterovs(0.1, 0.9), new Sgd(0.1));
    }

    private static Model dense(IUpdater updater) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(updater)
                .list()
                .layer(new DenseLayer.Builder().nIn(5).nOut(7).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE)
                        .nIn(7)
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .build())
                .build());
        network.init();
        return network;
    }

    static DataSet minibatch(long seed) {
        INDArray features = Nd4j.linspace(DataType.FLOAT, (double) seed - 1, 0.1, 20);
        return new DataSet(
                features.reshape(4, 5),
                Nd4j.linspace(DataType.FLOAT, (double) seed, 0.2, 8).reshape(4, 2));
    }

    @Test
    void state_outAndBackAndOutAgain_changesNoBit() {
        AtomicReference<MemOpt> attached = new AtomicReference<>();

        TwinRun.of(() -> Networks.LENET.create(WorkspaceMode.ENABLED), (model, i) -> {
                    Networks.fit(model, Networks.LENET.data(4, i));
                    if (attached.get() != null && i % 3 == 2) {
                        attached.get().close();
                        Networks.fit(model, Networks.LENET.data(4, 100 + i));
                        attached.set(MemOpt.attach(model, offloaded()));
                    } else if (i % 3 == 2) {
                        Networks.fit(model, Networks.LENET.data(4, 100 + i));
                    }
                })
                .iterations(6)
                .compare(model -> {
                    attached.set(MemOpt.attach(model, offloaded()));
                    return () -> attached.getAndSet(null).close();
                })
                .requireBitwise();
    }

    @Test
    void state_liesInAFileWithoutName_andIsBackAfterClose() throws IOException {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        INDArray held;
        INDArray before;
        try (MemOpt memopt = MemOpt.attach(network, offloaded())) {
            network.fit(Networks.LENET.data(4, 0));
            held = network.getUpdater().getStateViewArray();
            before = held.dup();

            assertThat(Mapping.of(held.data().address()))
                    .startsWith(folder + "/memopt-")
                    .endsWith("(deleted)");
            assertThat(Mapping.anonymousBytes(held.data().address())).isZero();
            assertThat(folder).isEmptyDirectory();
            assertThat(memopt.summary().notes())
                    .anyMatch(note -> note.startsWith("Offload: ") && note.contains("mapped"));
        }

        assertThat(network.getUpdater().getStateViewArray()).isEqualTo(before);
        assertThat(Mapping.of(network.getUpdater().getStateViewArray().data().address()))
                .doesNotContain("memopt-");
        network.fit(Networks.LENET.data(4, 1));
        assertThat(network.getUpdater().getStateViewArray()).isNotEqualTo(before);
        assertThat(held).isEqualTo(before);
    }

    @Test
    void network_isSavedWithItsState() throws IOException {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        ByteArrayOutputStream saved = new ByteArrayOutputStream();
        try (MemOpt memopt = MemOpt.attach(network, offloaded())) {
            network.fit(Networks.LENET.data(4, 0));
            ModelSerializer.writeModel(network, saved, true);
        }

        MultiLayerNetwork restored =
                ModelSerializer.restoreMultiLayerNetwork(new ByteArrayInputStream(saved.toByteArray()), true);

        assertThat(restored.getUpdater().getStateViewArray())
                .isEqualTo(network.getUpdater().getStateViewArray());
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"VGG", "RESIDUAL_GRAPH"})
    void checkpoints_inFiles_changeNoBit(Networks each) {
        MemOptConfig config = MemOptConfig.builder()
                .activationShare(0)
                .offloadCheckpoints(folder)
                .build();

        TwinRun.of(() -> each.create(WorkspaceMode.ENABLED), (model, i) -> Networks.fit(model, each.data(4, i)))
                .iterations(5)
                .compare(model -> {
                    MemOpt memopt = MemOpt.attach(model, config);
                    return () -> {
                        assertThat(memopt.summary().notes())
                                .anyMatch(note ->
                                        note.contains("of it are in mapped files") && !note.contains(" 0 B of it"));
                        assertThat(folder).isEmptyDirectory();
                        memopt.close();
                    };
                })
                .requireBitwise();
    }

    @Test
    void hostOffload_withoutDevice_isRefused() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(
                        network,
                        MemOptConfig.builder().offloadUpdaterState(Offload.HOST).build()))
                .withMessageContaining("offloadUpdaterState=HOST but the backend is ")
                .withMessageContaining("expected a CUDA backend");
    }

    @Test
    void checkpointsOffloadedWithoutCheckpointing_areRefused() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(
                        network,
                        MemOptConfig.builder().offloadCheckpoints(folder).build()))
                .withMessageContaining("offloadCheckpoints=" + folder)
                .withMessageContaining("activationShare=1");
    }

    @Test
    void folderThatDoesNotExist_isRefused() {
        MultiLayerNetwork network = (MultiLayerNetwork) Networks.LENET.create(WorkspaceMode.ENABLED);
        Path none = folder.resolve("none");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemOpt.attach(
                        network,
                        MemOptConfig.builder().offloadUpdaterState(none).build()))
                .withMessageContaining("offloadUpdaterState=" + none);
    }
}
