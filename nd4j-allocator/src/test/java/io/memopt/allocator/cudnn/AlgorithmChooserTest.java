// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AlgorithmChooserTest {
    /** Ranked, so that what is chosen does not depend on a clock: the last algorithm comes first. */
    private static final CudnnOptions OPTIONS = new CudnnOptions(true, true, false, 1000, 0, false, 1);

    private static final long[] TIMES = new long[8];

    @Test
    void choose_takesTheBestWithinTheBudget() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 10, 126}, TIMES);

        assertThat(chooser(new Memory()).choose(calls))
                .map(ConvolutionAlgorithm::id)
                .hasValue(1);
    }

    @Test
    void choose_whenNothingFits_takesTheSmallestUpToTheCeiling() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {300, 400, 501}, TIMES);

        assertThat(chooser(new Memory()).choose(calls))
                .map(ConvolutionAlgorithm::id)
                .hasValue(0);
    }

    @Test
    void choose_whenNothingIsBelowTheCeiling_isEmptyAndRemembered() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {501, -1}, TIMES);
        AlgorithmChooser chooser = chooser(new Memory());

        assertThat(chooser.choose(calls)).isEmpty();
        assertThat(chooser.run(calls)).isFalse();
        assertThat(chooser.table(Ways.SHAPE, ConvolutionPass.FORWARD)).isPresent();
        assertThat(calls.ran).isEmpty();
    }

    @Test
    void run_whenAWayFails_takesTheNextAndStaysWithIt() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 10, 20}, TIMES);
        calls.broken.add(2);
        AlgorithmChooser chooser = chooser(new Memory());

        assertThat(chooser.run(calls)).isTrue();
        assertThat(chooser.run(calls)).isTrue();

        assertThat(calls.ran).extracting(ConvolutionAlgorithm::id).containsExactly(2, 1, 1);
    }

    @Test
    void chosen_prefersGraphs_unlessTheyHaveNoWay() {
        AlgorithmChooser chooser = chooser(new Memory());
        chooser.choose(new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 10}, TIMES));
        FakeCalls without = new FakeCalls(ConvolutionPass.FORWARD, new long[] {501}, TIMES);
        without.graph = true;
        chooser.choose(without);
        assertThat(chooser.chosen(Ways.SHAPE, ConvolutionPass.FORWARD))
                .map(ConvolutionAlgorithm::id)
                .hasValue(1);

        AlgorithmChooser other = chooser(new Memory());
        other.choose(new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 10}, TIMES));
        FakeCalls with = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 10, 20}, TIMES);
        with.graph = true;
        other.choose(with);
        assertThat(other.chosen(Ways.SHAPE, ConvolutionPass.FORWARD))
                .map(ConvolutionAlgorithm::id)
                .hasValue(2);
    }

    @Test
    void run_whenAllWaysFail_isFalse() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0}, TIMES);
        calls.broken.add(0);

        assertThat(chooser(new Memory()).run(calls)).isFalse();
    }

    @Test
    void choose_whenStored_looksForNothing() {
        Memory store = new Memory();
        FakeCalls first = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 10}, TIMES);
        chooser(store).choose(first);

        FakeCalls again = new FakeCalls(ConvolutionPass.FORWARD, new long[] {}, TIMES);
        assertThat(chooser(store).choose(again)).map(ConvolutionAlgorithm::id).hasValue(1);
        FakeCalls elsewhere = new FakeCalls(ConvolutionPass.BACKWARD_DATA, new long[] {}, TIMES);
        assertThat(chooser(store).choose(elsewhere)).isEmpty();
        assertThat(new AlgorithmChooser(OPTIONS, store, "another device").choose(again))
                .isEmpty();
    }

    @Test
    void choose_whenStoredForASmallerBudget_looksAgain() {
        Memory store = new Memory();
        long[] bytes = {0, 200};
        CudnnOptions small = new CudnnOptions(true, true, false, 10, 0, false, 1);
        new AlgorithmChooser(small, store, "device").choose(new FakeCalls(ConvolutionPass.FORWARD, bytes, TIMES));

        CudnnOptions large = new CudnnOptions(true, true, false, 2000, 0, false, 1);
        assertThat(new AlgorithmChooser(large, store, "device")
                        .choose(new FakeCalls(ConvolutionPass.FORWARD, bytes, TIMES)))
                .map(ConvolutionAlgorithm::id)
                .hasValue(1);
    }

    private static AlgorithmChooser chooser(AlgorithmStore store) {
        return new AlgorithmChooser(OPTIONS, store, "device");
    }

    private static final class Memory implements AlgorithmStore {
        private final Map<String, AlgorithmTable> tables = new HashMap<>();

        @Override
        public Optional<AlgorithmTable> find(String key) {
            return Optional.ofNullable(tables.get(key));
        }

        @Override
        public void put(String key, AlgorithmTable table) {
            tables.put(key, table);
        }
    }
}
