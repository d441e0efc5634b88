// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Recording;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class RecordedPassesTest {
    private final List<Integer> batches = new ArrayList<>();
    private Recording recording;

    @BeforeEach
    void install() {
        recording = MemoryHooks.install();
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    /** Makes {@code more} arrays besides its own. */
    private void pass(int batch, int more) {
        batches.add(batch);
        for (int i = 0; i < more; i++) {
            Nd4j.createUninitialized(DataType.FLOAT, 1000).close();
        }
        try (INDArray own = Nd4j.createUninitialized(DataType.FLOAT, batch, 100)) {
            assertThat(own.length()).isPositive();
        }
    }

    private Optional<RecordedPasses> record(IntConsumer pass) {
        return RecordedPasses.record(recording, 2, 3, pass);
    }

    @Test
    void passesThatDoTheSame_areRecordedOnce() {
        RecordedPasses passes = record(batch -> pass(batch, 0)).orElseThrow();

        assertThat(batches).containsExactly(2, 3);
        assertThat(passes.at(20).detachedBytes()).isEqualTo(20 * 100 * Float.BYTES);
    }

    @Test
    void firstPassThatMadeConstants_isRecordedAgain() {
        RecordedPasses passes =
                record(batch -> pass(batch, batches.isEmpty() ? 1 : 0)).orElseThrow();

        assertThat(batches).containsExactly(2, 3, 2);
        assertThat(passes.at(20).detachedBytes()).isEqualTo(20 * 100 * Float.BYTES);
    }

    @Test
    void passesThatDoOtherThingsEachTime_areNotUnderstood() {
        assertThat(record(batch -> pass(batch, batches.size()))).isEmpty();
        assertThat(batches).containsExactly(2, 3, 2);
    }
}
