// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ConvolutionShapeTest {
    @Test
    void outSizes_followStridePaddingAndDilation() {
        assertThat(Ways.SHAPE.outHeight()).isEqualTo(10);
        assertThat(Ways.SHAPE.outWidth()).isEqualTo(12);
        ConvolutionShape dilated = new ConvolutionShape(1, 2, 11, 9, 4, 3, 2, 2, 3, 0, 1, 2, 4, 2);
        assertThat(dilated.outHeight()).isEqualTo(4);
        assertThat(dilated.outWidth()).isEqualTo(3);
        assertThat(dilated.outputItem()).isEqualTo(48);
        assertThat(dilated.inputItem()).isEqualTo(198);
    }

    @Test
    void key_tellsShapesApart() {
        assertThat(Ways.SHAPE.key()).isEqualTo("n8c4h10w12k6r3s3u1v1p1q1e1f1g1");
        assertThat(Ways.SHAPE.withBatch(4).key()).startsWith("n4c4");
    }

    @Test
    void constructor_refusesWhatIsNoConvolution() {
        assertThatThrownBy(() -> new ConvolutionShape(1, 3, 4, 4, 4, 3, 3, 1, 1, 0, 0, 1, 1, 2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("channels=3")
                .hasMessageContaining("groups=2");
        assertThatThrownBy(() -> new ConvolutionShape(1, 1, 4, 4, 1, 5, 5, 1, 1, 0, 0, 1, 1, 1))
                .hasMessageContaining("does not fit");
        assertThatThrownBy(() -> Ways.SHAPE.withBatch(0)).hasMessageContaining("batch=0");
    }
}
