// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Optional;
import org.junit.jupiter.api.Test;

class LayerEnginesTest {
    @Test
    void openCudnn_onAnotherBackend_saysWhatIsNeeded() {
        AlgorithmStore store = new AlgorithmStore() {
            @Override
            public Optional<AlgorithmTable> find(String key) {
                return Optional.empty();
            }

            @Override
            public void put(String key, AlgorithmTable table) {}
        };

        assertThatThrownBy(() -> LayerEngines.openCudnn(
                        new CudnnOptions(true, true, false, 1, 0, true, 1), store, ScratchHooks.none()))
                .isInstanceOf(LayerEngineException.class)
                .hasMessageContaining("CpuBackend")
                .hasMessageContaining("nd4j-cuda");
    }

    /** The presets on this class path are of cuDNN 8.3. */
    @Test
    void graphs_withPresetsThatLackThem_areNotThere() {
        assertThat(BackendLibrary.instance()).isNull();
    }
}
