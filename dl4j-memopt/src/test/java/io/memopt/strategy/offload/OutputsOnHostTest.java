// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.nd4j.PinnedBlock;
import io.memopt.strategy.offload.SimulatedLanes.Pace;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongFunction;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Which arrays a pass asks for: a plan serves it only as long as they are those that it knows. */
class OutputsOnHostTest {
    /** Of four segments: each uses what the one before left, forward and backward. */
    private static final List<Set<Integer>> USES =
            List.of(Set.of(), Set.of(0), Set.of(1), Set.of(2), Set.of(1), Set.of(0), Set.of());

    private int made;

    @Test
    void pass_withRoomOnTheHost_takesTwoSlots() {
        assertThat(pass(PinnedBlock::of)).isEqualTo(2);
    }

    /** Slots take turns in another order then, so that a plan must not go on to give their bytes to others. */
    @Test
    void passWhoseOutputCannotLeave_asksForAnArrayThatNoPlanKnows_andKeepsAllOutputs() {
        assertThat(pass(bytes -> Optional.empty())).isGreaterThan(3);
    }

    /** How many arrays a pass made. */
    private int pass(LongFunction<Optional<PinnedBlock>> blocks) {
        try (OutputsOnHost store = new OutputsOnHost(new SimulatedLanes(Pace.LATEST), blocks)) {
            store.begin(USES, (type, elements) -> {
                made++;
                return Nd4j.create(type, elements);
            });
            for (int stage = 0; stage < USES.size(); stage++) {
                store.stage(stage);
                for (int used : USES.get(stage)) {
                    assertThat(store.get(used))
                            .as("output %d in stage %d", used, stage)
                            .isEqualTo(output(used));
                }
                if (stage < 3) {
                    assertThat(store.keep(stage, output(stage))).isTrue();
                }
            }
            store.end();
            return made;
        }
    }

    private static INDArray output(int position) {
        return Nd4j.valueArrayOf(new long[] {2, 3}, position + 1.0f);
    }
}
