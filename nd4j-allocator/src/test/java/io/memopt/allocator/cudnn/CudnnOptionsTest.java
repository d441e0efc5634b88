// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class CudnnOptionsTest {
    private static final long MIB = 1 << 20;

    /** Two 32-item arrays of 64 channels: 822 MB at 224x224, 13 MB at 28x28. */
    private static ConvolutionShape shape(int size) {
        return new ConvolutionShape(32, 64, size, size, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1);
    }

    @Test
    void limitBytes_is64MiBAndAShareOfThePassesArrays_withinTheBudget() {
        CudnnOptions shared = new CudnnOptions(true, true, false, 256 * MIB, 2, true, 16);

        assertThat(shared.limitBytes(shape(224))).isEqualTo(256 * MIB);
        assertThat(shared.limitBytes(shape(28)))
                .isEqualTo(64 * MIB + 2 * 4 * (2 * 32 * 64 * 28 * 28 + 64 * 64 * 9))
                .isBetween(88 * MIB, 90 * MIB);
        assertThat(new CudnnOptions(true, true, false, 32 * MIB, 2, true, 16).limitBytes(shape(28)))
                .isEqualTo(32 * MIB);
    }

    @Test
    void limitBytes_withoutAShare_isTheBudget() {
        CudnnOptions free = new CudnnOptions(true, true, false, 256 * MIB, 0, true, 16);
        assertThat(free.limitBytes(shape(28))).isEqualTo(256 * MIB);
    }

    @Test
    void negativeShare_isRefused() {
        assertThatThrownBy(() -> new CudnnOptions(true, true, false, 1, -1, true, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("scratchShare=-1");
    }
}
