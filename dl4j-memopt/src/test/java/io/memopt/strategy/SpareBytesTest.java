// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.ArrayBits;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.ScopeObserver;
import io.memopt.testing.Networks;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Bytes that a planned arena lends between two arrays are nobody else's. */
class SpareBytesTest {
    private static final int ITERATIONS = 12;

    @ParameterizedTest
    @EnumSource(Networks.class)
    void scribbledOver_trainingKeepsItsBits(Networks family) {
        Run plain = run(family, new Scribbler(), false);
        Scribbler scribbler = new Scribbler();
        Run planned = run(family, scribbler, true);
        assertThat(scribbler.most).as("bytes lent at once").isGreaterThan(1024);
        assertThat(planned.scores).containsExactlyElementsOf(plain.scores);
        assertThat(ArrayBits.equal(planned.params, plain.params)).isTrue();
    }

    private record Run(INDArray params, List<Double> scores) {}

    private static Run run(Networks family, Scribbler scribbler, boolean planned) {
        MemoryHooks.uninstall();
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        MemOptConfig config = MemOptConfig.builder()
                .reuse(planned ? Reuse.PLANNED : Reuse.OFF)
                .build();
        List<Double> scores = new ArrayList<>();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            MemoryHooks.install().addObserver(scribbler);
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, family.data(8, i % 3));
                scores.add(model.score());
            }
        } finally {
            MemoryHooks.uninstall();
        }
        return new Run(model.params().dup(), scores);
    }

    /** Whenever a workspace is opened or closed, fills the largest piece that is lent with ones, which are no number. */
    private static final class Scribbler implements ScopeObserver {
        private static final long STEP = 64;

        private long most;

        @Override
        public void scopeEntered(String workspace) {
            scribble();
        }

        @Override
        public void scopeClosed(String workspace) {
            scribble();
        }

        private void scribble() {
            long bytes = 0;
            for (long more = STEP; MemoryHooks.spareBytes(bytes + more) > 0; more *= 2) {
                bytes += more;
            }
            if (bytes > 0) {
                long place = MemoryHooks.spareBytes(bytes);
                assertThat(place % 256).isZero();
                Pointer.memset(new Place(place), -1, bytes);
                most = Math.max(most, bytes);
            }
        }
    }

    private static final class Place extends Pointer {
        private Place(long at) {
            address = at;
        }
    }
}
