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

    @Test
    void limit_takesWaysWithin_andAgainThoseBefore_withoutLookingAgain() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 5, 10}, TIMES);
        AlgorithmChooser chooser = chooser(new Memory());
        assertThat(chosen(chooser, calls)).hasValue(2);
        FakeCalls none = new FakeCalls(ConvolutionPass.FORWARD, new long[] {}, TIMES);

        chooser.limit(79, Long.MAX_VALUE);
        assertThat(chosen(chooser, none)).hasValue(1);
        assertThat(chooser.chosenWithin(Ways.SHAPE, ConvolutionPass.FORWARD, 39))
                .map(ConvolutionAlgorithm::id)
                .hasValue(0);
        chooser.limit(80, Long.MAX_VALUE);
        assertThat(chosen(chooser, none)).hasValue(2);
    }

    @Test
    void limit_beforeAnythingIsKnown_looksNoFurther_untilItIsRaised() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 5, 10}, TIMES);
        AlgorithmChooser chooser = chooser(new Memory());

        chooser.limit(40, Long.MAX_VALUE);
        assertThat(chosen(chooser, calls)).hasValue(1);
        assertThat(chooser.table(Ways.SHAPE, ConvolutionPass.FORWARD)
                        .orElseThrow()
                        .algorithms())
                .hasSize(2);
        chooser.limit(Long.MAX_VALUE, Long.MAX_VALUE);
        assertThat(chooser.knows(calls)).isFalse();
        assertThat(chosen(chooser, calls)).hasValue(2);
    }

    /** However large the ceiling: what is tried takes memory. */
    @Test
    void limit_belowAllWays_triesTheSmallestAlone() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {30, 20, 40}, new long[] {1, 2, 3});
        CudnnOptions measured = new CudnnOptions(true, true, false, 1000, 0, true, 1);
        AlgorithmChooser chooser = new AlgorithmChooser(measured, new Memory(), "device", () -> calls.now);

        chooser.limit(10, Long.MAX_VALUE);

        assertThat(chosen(chooser, calls)).hasValue(1);
        assertThat(calls.ran).extracting(ConvolutionAlgorithm::id).containsOnly(1);
    }

    @Test
    void run_whereThereIsNoRoom_takesAWayWithinThatOnce() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 5, 10}, TIMES);
        AlgorithmChooser chooser = chooser(new Memory());
        chooser.choose(calls);
        chooser.limit(80, 45);

        calls.room = 45;
        assertThat(chooser.run(calls)).isTrue();
        calls.room = 80;
        assertThat(chooser.run(calls)).isTrue();

        assertThat(calls.ran).extracting(ConvolutionAlgorithm::id).containsExactly(1, 2);
    }

    /** Of another network, in another thread. */
    @Test
    void limit_duringASearch_counts() {
        CudnnOptions measured = new CudnnOptions(true, true, false, 1000, 0, true, 1);
        long[] times = {3000, 2000, 1000};
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 5, 10}, times);
        AlgorithmChooser chooser = new AlgorithmChooser(measured, new Memory(), "device", () -> calls.now);
        calls.beside = () -> chooser.limit(40, Long.MAX_VALUE);
        assertThat(chosen(chooser, calls)).hasValue(1);

        FakeCalls raised = new FakeCalls(ConvolutionPass.BACKWARD_DATA, new long[] {0, 5, 10}, times);
        AlgorithmChooser other = new AlgorithmChooser(measured, new Memory(), "device", () -> raised.now);
        other.limit(0, Long.MAX_VALUE);
        raised.beside = () -> other.limit(80, Long.MAX_VALUE);
        assertThat(chosen(other, raised)).hasValue(2);
    }

    private static Optional<Integer> chosen(AlgorithmChooser chooser, FakeCalls calls) {
        return chooser.choose(calls).map(ConvolutionAlgorithm::id);
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
