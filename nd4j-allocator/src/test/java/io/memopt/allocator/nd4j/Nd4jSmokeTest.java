// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Shows that ND4J finds its CPU backend under the build's test class path. */
class Nd4jSmokeTest {

    @Test
    void sumNumber_ofOnes_countsElements() {
        INDArray ones = Nd4j.ones(2, 2);

        double sum = ones.sumNumber().doubleValue();

        assertThat(sum).isEqualTo(4.0);
    }

    @Test
    void backend_withCudaJarOnlyAtCompileTime_isCpu() {
        String backend = Nd4j.getBackend().getClass().getSimpleName();

        assertThat(backend).isEqualTo("CpuBackend");
    }
}
