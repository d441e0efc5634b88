// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

class ImageBatchesTest {
    /** Ten images, each of one grey, 0 to 225; even ones of class "even". */
    private static final ImageSet GREYS = greys();

    @Test
    void evaluation_always_givesEveryImageAsItIs() {
        ImageBatches batches = ImageBatches.evaluation(GREYS, 4);

        List<DataSet> all = new ArrayList<>();
        batches.forEachRemaining(all::add);

        assertThat(batches.count()).isEqualTo(3);
        assertThat(all).hasSize(3);
        assertThat(all.get(0).getFeatures().shape()).containsExactly(4, 3, 32, 32);
        assertThat(all.get(2).getFeatures().shape()).containsExactly(2, 3, 32, 32);
        assertThat(all.get(2).getLabels().toFloatMatrix()).isDeepEqualTo(new float[][] {{1, 0}, {0, 1}});
        assertThat(all.get(2).getFeatures().getFloat(1, 2, 31, 31)).isEqualTo(225 / 127.5f - 1);
        assertThatThrownBy(batches::next).isInstanceOf(NoSuchElementException.class);
    }

    @Test
    void training_always_leavesOutTheRemainderAndKeepsImagesWhole() {
        ImageBatches batches = ImageBatches.training(GREYS, 4, 1);

        List<DataSet> all = new ArrayList<>();
        batches.forEachRemaining(all::add);

        assertThat(all).hasSize(2);
        for (DataSet batch : all) {
            INDArray spread = batch.getFeatures().std(1, 2, 3);
            assertThat(spread.maxNumber().doubleValue()).isLessThan(1e-5);
            for (int i = 0; i < 4; i++) {
                long grey = Math.round((batch.getFeatures().getDouble(i, 0, 0, 0) + 1) * 127.5) / 25;
                assertThat(batch.getLabels().getInt(i, (int) (grey % 2))).isEqualTo(1);
            }
        }
    }

    @Test
    void training_withTheSameSeed_isTheSameAndEachEpochDiffers() {
        ImageBatches once = ImageBatches.training(GREYS, 10, 7);
        ImageBatches again = ImageBatches.training(GREYS, 10, 7);

        INDArray first = once.next().getFeatures();
        once.reset();
        INDArray second = once.next().getFeatures();

        assertThat(again.next().getFeatures()).isEqualTo(first);
        assertThat(second).isNotEqualTo(first);
        again.reset();
        assertThat(again.next().getFeatures()).isEqualTo(second);
    }

    @Test
    void training_withTooFewImages_isRefused() {
        assertThatThrownBy(() -> ImageBatches.training(GREYS, 11, 1))
                .hasMessage("batch=11, expected at most the 10 training images");
        assertThatThrownBy(() -> ImageBatches.evaluation(GREYS, 0)).hasMessage("batch=0, expected at least 1");
    }

    private static ImageSet greys() {
        List<ImageSet.Image> images = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            byte[] pixels = new byte[ImageSet.BYTES];
            Arrays.fill(pixels, (byte) (25 * i));
            images.add(new ImageSet.Image(pixels, i % 2));
        }
        return new ImageSet(List.of("even", "odd"), images);
    }
}
