// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.testing.Networks;
import java.lang.reflect.Field;
import java.util.Arrays;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.factory.Nd4j;

/** cuDNN asked for where there is none. */
class ConvolutionsTest {
    @Test
    void attach_onCpuWithCudnn_leavesTheNetworkAsItIs() throws ReflectiveOperationException {
        float[] plain = train(Convolutions.BUILT_IN);

        assertThat(Arrays.equals(train(Convolutions.CUDNN), plain)).isTrue();
    }

    @Test
    void convolutions_refusesSettingsOutOfRange() {
        assertThatThrownBy(() -> Convolutions.CUDNN.withScratchBytes(-1)).hasMessageContaining("scratchBytes=-1");
        assertThatThrownBy(() -> Convolutions.CUDNN.withMaxParts(65)).hasMessageContaining("maxParts=65");
        assertThat(MemOptConfig.defaults().convolutions()).isEqualTo(Convolutions.BUILT_IN);
        assertThat(Convolutions.CUDNN.deterministic()).isTrue();
        assertThat(Convolutions.CUDNN.tf32()).isFalse();
    }

    private static float[] train(Convolutions convolutions) throws ReflectiveOperationException {
        Nd4j.getRandom().setSeed(7);
        Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
        MemOptConfig config = MemOptConfig.builder().convolutions(convolutions).build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < 3; i++) {
                Networks.fit(model, Networks.VGG.data(2, i));
            }
            assertThat(memopt.convolutions()).isEmpty();
            assertThat(helperOf(((MultiLayerNetwork) model).getLayer(0))).isNull();
        }
        return model.params().dup().data().asFloat();
    }

    private static Object helperOf(Layer layer) throws ReflectiveOperationException {
        Field field = ConvolutionLayer.class.getDeclaredField("helper");
        field.setAccessible(true);
        return field.get(layer);
    }
}
