// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.cudnn.AlgorithmTable;
import io.memopt.allocator.cudnn.ConvolutionAlgorithm;
import io.memopt.allocator.cudnn.ConvolutionMath;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AlgorithmFileTest {
    private static final AlgorithmTable TABLE = new AlgorithmTable(
            1L << 40,
            true,
            List.of(
                    new ConvolutionAlgorithm(1, ConvolutionMath.TF32, 4, 1L << 33, 123),
                    new ConvolutionAlgorithm(7, ConvolutionMath.FMA, 1, 0, 456)));

    @TempDir
    Path folder;

    @Test
    void save_thenOpen_givesTheSameTables() {
        AlgorithmFile file = AlgorithmFile.open(folder.resolve("a.json"));
        file.put("one", TABLE);
        file.put("none", new AlgorithmTable(5, false, List.of()));
        file.save();

        AlgorithmFile again = AlgorithmFile.open(folder.resolve("a.json"));
        assertThat(again.find("one")).hasValue(TABLE);
        assertThat(again.find("none")).hasValue(new AlgorithmTable(5, false, List.of()));
        assertThat(again.find("other")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "[]",
                "{\"format\":\"memopt-plans\",\"version\":1}",
                "{\"format\":\"memopt-convolutions\",\"version\":2}",
                "{\"format\":\"memopt-convolutions\",\"version\":1,\"tables\":{\"k\":null}}",
                "{\"format\":\"memopt-convolutions\",\"version\":1,\"tables\":{\"k\":{\"ways\":[[1,0,1,0]]}}}",
                "{\"format\":\"memopt-convolutions\",\"version\":1,\"tables\":{\"k\":{\"ways\":[[1,9,1,0,0]]}}}",
                "{\"format\":\"memopt-convolutions\",\"version\":1,\"tables\":{\"k\":{\"ways\":[[1,0,0,0,0]]}}}"
            })
    void open_whenDamaged_startsEmptyAndLeavesTheFileAlone(String content) throws IOException {
        Path path = Files.writeString(folder.resolve("a.json"), content);

        AlgorithmFile file = AlgorithmFile.open(path);
        file.put("one", TABLE);
        file.save();

        assertThat(file.find("k")).isEmpty();
        assertThat(file.find("one")).hasValue(TABLE);
        assertThat(path).hasContent(content);
    }

    @Test
    void save_whenNothingIsNew_writesNothing() {
        AlgorithmFile.open(folder.resolve("a.json")).save();
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void save_whenFolderIsMissing_doesNotThrow() {
        AlgorithmFile file = AlgorithmFile.open(folder.resolve("absent/a.json"));
        file.put("one", TABLE);
        file.save();
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void put_whenFull_forgetsTheOldest() {
        AlgorithmFile file = AlgorithmFile.inMemory();
        for (int i = 0; i <= AlgorithmFile.MOST_TABLES; i++) {
            file.put("k" + i, TABLE);
        }
        assertThat(file.find("k0")).isEmpty();
        assertThat(file.find("k1")).isPresent();
    }
}
