// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class EmojiImagesTest {
    @Test
    void load_always_findsEveryImageOfEveryClass() throws IOException {
        ImageSet images = EmojiImages.load();

        assertThat(images.size()).isEqualTo(1906);
        assertThat(images.classes()).hasSize(9).startsWith("Smileys & Emotion").endsWith("Flags");
        assertThat(images.counts()).containsExactly(169, 386, 159, 131, 218, 85, 264, 224, 270);
    }

    @Test
    void load_always_findsNoBlankCell() throws IOException {
        ImageSet images = EmojiImages.load();

        for (int i = 0; i < images.size(); i++) {
            byte[] pixels = images.pixels(i);
            assertThat(IntStream.range(0, pixels.length)
                            .map(at -> pixels[at])
                            .distinct()
                            .count())
                    .as("different values in image %d", i)
                    .isGreaterThan(3);
        }
    }

    @Test
    void split_withTheSameSeed_isTheSame() throws IOException {
        ImageSet images = EmojiImages.load();

        ImageSet.Split once = images.split(0.2, 5);
        ImageSet.Split again = images.split(0.2, 5);
        ImageSet.Split other = images.split(0.2, 6);

        assertThat(labels(once.test())).isEqualTo(labels(again.test())).isNotEqualTo(labels(other.test()));
        assertThat(once.test().size()).isEqualTo(381);
        assertThat(once.train().size()).isEqualTo(1525);
    }

    @Test
    void split_always_putsEachImageOnOneSide() throws IOException {
        ImageSet.Split split = EmojiImages.load().split(0.2, 5);

        Set<byte[]> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (ImageSet side : new ImageSet[] {split.train(), split.test()}) {
            IntStream.range(0, side.size()).forEach(i -> seen.add(side.pixels(i)));
        }

        assertThat(seen).hasSize(1906);
    }

    @Test
    void split_withNothingForTheTest_isRefused() throws IOException {
        ImageSet images = EmojiImages.load();

        assertThatThrownBy(() -> images.split(0, 1)).hasMessage("testShare=0.0, expected between 0 and 1");
    }

    private static String labels(ImageSet images) {
        return Arrays.toString(
                IntStream.range(0, images.size()).map(images::label).toArray());
    }
}
