// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;

class CifarImagesTest {
    @TempDir
    private Path directory;

    @Test
    void load_ofDirectory_readsBatchesInOrderAndTheTest() throws IOException {
        write("data_batch_2.bin", 7, 8);
        write("data_batch_1.bin", 3);
        write("test_batch.bin", 9);
        write("other.bin", 1, 1, 1);

        ImageSet.Split split = CifarImages.load(directory, 1);

        assertThat(split.train().size()).isEqualTo(3);
        assertThat(split.train().label(0)).isEqualTo(3);
        assertThat(split.train().label(1)).isEqualTo(7);
        assertThat(split.train().classes().get(3)).isEqualTo("cat");
        assertThat(split.test().counts()).containsExactly(0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
    }

    @Test
    void load_always_findsPlanesRowByRow() throws IOException {
        write("data_batch_1.bin", 4);
        write("test_batch.bin", 4);

        ImageSet.Split split = CifarImages.load(directory, 1);
        INDArray image = ImageBatches.evaluation(split.train(), 1).next().getFeatures();

        // the record counts 0, 1, 2, ... and starts over after 250
        assertThat(pixel(image, 0, 0, 5)).isEqualTo(5);
        assertThat(pixel(image, 0, 2, 5)).isEqualTo(2 * 32 + 5);
        assertThat(pixel(image, 1, 0, 0)).isEqualTo(1024 % 251);
        assertThat(pixel(image, 2, 31, 31)).isEqualTo(3071 % 251);
    }

    @Test
    void load_ofSingleFile_putsAFifthAside() throws IOException {
        write("data_batch_1.bin", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);

        ImageSet.Split split = CifarImages.load(directory.resolve("data_batch_1.bin"), 1);

        assertThat(split.train().size()).isEqualTo(8);
        assertThat(split.test().size()).isEqualTo(2);
    }

    @Test
    void load_ofEmptyDirectory_saysWhatIsMissing() {
        assertThatThrownBy(() -> CifarImages.load(directory, 1))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessageContaining(directory.toString())
                .hasMessageContaining("no data_batch_*.bin in it");
    }

    @Test
    void load_ofCutFile_saysItsLength() throws IOException {
        Files.write(directory.resolve("data_batch_1.bin"), new byte[3072]);

        assertThatThrownBy(() -> CifarImages.load(directory, 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("data_batch_1.bin has 3072 bytes, expected a multiple of 3073");
    }

    @Test
    void load_ofUnknownClass_saysWhere() throws IOException {
        write("data_batch_1.bin", 1, 200);

        assertThatThrownBy(() -> CifarImages.load(directory, 1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("class 200 at byte 3073, expected 0 to 9");
    }

    private static long pixel(INDArray image, int channel, int y, int x) {
        return Math.round((image.getDouble(0, channel, y, x) + 1) * 127.5);
    }

    private void write(String file, int... labels) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int label : labels) {
            out.write(label);
            for (int i = 0; i < 3072; i++) {
                out.write(i % 251);
            }
        }
        Files.write(directory.resolve(file), out.toByteArray());
    }
}
