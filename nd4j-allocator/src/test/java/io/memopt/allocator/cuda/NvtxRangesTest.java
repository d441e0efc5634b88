// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import org.junit.jupiter.api.Test;

/** Names only: ranges themselves need the CUDA toolkit. */
class NvtxRangesTest {
    @Test
    void nameOf_layerAndPhase_namesBoth_andLeavesOutWhatIsUnknown() {
        assertThat(NvtxRanges.nameOf(new Owner("net", "conv1", Phase.FORWARD, Category.OTHER, "")))
                .isEqualTo("net forward conv1");
        assertThat(NvtxRanges.nameOf(new Owner("net", "", Phase.BACKWARD, Category.OTHER, "")))
                .isEqualTo("net backward");
    }
}
