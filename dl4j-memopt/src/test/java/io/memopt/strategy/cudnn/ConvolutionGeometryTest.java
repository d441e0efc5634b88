// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import java.util.Random;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.util.ConvolutionUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class ConvolutionGeometryTest {
    private static final int CASES = 2000;

    @ParameterizedTest
    @EnumSource(
            value = ConvolutionMode.class,
            names = {"Same", "Truncate"})
    void of_hasTheOutputSizesOfDeeplearning4j(ConvolutionMode mode) {
        Random random = new Random(5);
        int supported = 0;
        for (int i = 0; i < CASES; i++) {
            int[] kernel = pair(random, 1, 5);
            int[] strides = pair(random, 1, 4);
            int[] dilation = pair(random, 1, 3);
            int[] size = pair(random, 1, 20);
            int[] own = pair(random, 0, 3);
            int[] expected;
            int[] pad;
            try (INDArray input = Nd4j.createUninitialized(DataType.FLOAT, 1, 2, size[0], size[1])) {
                int[] asked = mode == ConvolutionMode.Same ? null : own;
                expected =
                        ConvolutionUtils.getOutputSize(input, kernel, strides, asked, mode, dilation, CNN2DFormat.NCHW);
                pad = mode == ConvolutionMode.Same
                        ? ConvolutionUtils.getSameModeTopLeftPadding(expected, size, kernel, strides, dilation)
                        : own;
            } catch (RuntimeException e) {
                continue; // Deeplearning4j refuses these sizes itself
            }
            Optional<ConvolutionGeometry> geometry = ConvolutionGeometry.of(
                    new long[] {1, 2, size[0], size[1]},
                    new long[] {3, 2, kernel[0], kernel[1]},
                    strides,
                    pad,
                    dilation,
                    mode);
            assertThat(geometry).as("case %d", i).isPresent();
            assertThat(geometry.get().outputShape()).as("case %d", i).containsExactly(1, 3, expected[0], expected[1]);
            assertThat(geometry.get().moreHeight()).isBetween(0, 1);
            supported++;
        }
        assertThat(supported).isGreaterThan(CASES / 2);
    }

    @Test
    void extend_addsZerosAtBottomAndRight() {
        ConvolutionGeometry geometry = ConvolutionGeometry.of(
                        new long[] {1, 1, 2, 2},
                        new long[] {1, 1, 2, 2},
                        new int[] {1, 1},
                        new int[] {0, 0},
                        new int[] {1, 1},
                        ConvolutionMode.Same)
                .orElseThrow();
        INDArray x = Nd4j.createFromArray(1f, 2f, 3f, 4f).reshape(1, 1, 2, 2);

        assertThat(geometry.extend(x).data().asFloat()).containsExactly(1, 2, 0, 3, 4, 0, 0, 0, 0);
        assertThat(geometry.inner(geometry.extend(x))).isEqualTo(x);
    }

    @Test
    void of_whenModeIsNotTwoDimensional_isEmpty() {
        assertThat(ConvolutionGeometry.of(
                        new long[] {1, 1, 4, 4},
                        new long[] {1, 1, 2, 2},
                        new int[] {1, 1},
                        new int[] {0, 0},
                        new int[] {1, 1},
                        ConvolutionMode.Causal))
                .isEmpty();
    }

    private static int[] pair(Random random, int from, int to) {
        return new int[] {from + random.nextInt(to - from + 1), from + random.nextInt(to - from + 1)};
    }
}
