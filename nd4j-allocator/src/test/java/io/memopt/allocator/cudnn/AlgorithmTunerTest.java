// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AlgorithmTunerTest {
    private static final long MIB = 1 << 20;
    private static final CudnnOptions OPTIONS = new CudnnOptions(true, true, false, 64 * MIB, 0, true, 4);

    @Test
    void search_measuresTimeOfOneRun() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 10}, new long[] {500, 300});

        AlgorithmTable table = search(OPTIONS, calls);

        assertThat(table.algorithms()).containsExactly(Ways.way(1, 80, 300), Ways.way(0, 0, 500));
        assertThat(table.measured()).isTrue();
    }

    @Test
    void leastBytes_countsPartsAndAllowedWaysAlone_andRunsNothing() {
        AlgorithmTuner tuner = new AlgorithmTuner(OPTIONS, () -> 0);
        FakeCalls calls = new FakeCalls(ConvolutionPass.BACKWARD_FILTER, new long[] {1, 40, -1}, new long[3]);

        assertThat(tuner.leastBytes(calls)).isEqualTo(40 * 8 / 4);
        assertThat(tuner.leastBytes(new FakeCalls(ConvolutionPass.FORWARD, new long[] {-1}, new long[1])))
                .isEqualTo(Long.MAX_VALUE);
        assertThat(calls.ran).isEmpty();
    }

    @Test
    void search_whenDeterministic_leavesOutAtomicAlgorithms() {
        long[] none = {0, 0, 0, 0};
        long[] time = {1, 9, 8, 1};

        assertThat(search(OPTIONS, new FakeCalls(ConvolutionPass.BACKWARD_FILTER, none, time))
                        .algorithms())
                .extracting(ConvolutionAlgorithm::id)
                .containsExactly(2, 1);
        CudnnOptions any = new CudnnOptions(false, true, false, 64 * MIB, 0, true, 4);
        assertThat(search(any, new FakeCalls(ConvolutionPass.BACKWARD_FILTER, none, time))
                        .algorithms())
                .extracting(ConvolutionAlgorithm::id)
                .containsExactly(0, 3, 2, 1);
    }

    @Test
    void search_withoutTf32_neverRunsIt() {
        long[] none = {0, 0};
        long[] time = {100, 100};
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, none, time);
        search(OPTIONS, calls);
        assertThat(calls.ran).extracting(ConvolutionAlgorithm::math).containsOnly(ConvolutionMath.FMA);

        CudnnOptions tf32 = new CudnnOptions(true, true, true, 64 * MIB, 0, true, 4);
        AlgorithmTable table = search(tf32, new FakeCalls(ConvolutionPass.FORWARD, none, time));
        assertThat(table.algorithms().get(0).math()).isEqualTo(ConvolutionMath.TF32);
    }

    @Test
    void search_whenWholeBatchNeedsTooMuch_computesItInParts() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 12 * MIB}, new long[] {500, 300});

        AlgorithmTable table = search(OPTIONS, calls);

        assertThat(table.algorithms())
                .filteredOn(way -> way.id() == 1)
                .containsExactly(
                        new ConvolutionAlgorithm(1, ConvolutionMath.FMA, 2, 48 * MIB, 301),
                        new ConvolutionAlgorithm(1, ConvolutionMath.FMA, 4, 24 * MIB, 303));
        assertThat(table.fastestWithin(40 * MIB))
                .map(ConvolutionAlgorithm::parts)
                .hasValue(4);
    }

    @Test
    void search_whenAWayIsBeatenInTimeAndScratch_doesNotTryItInMoreParts() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 6 * MIB}, new long[] {200, 300});

        AlgorithmTable table = search(OPTIONS, calls);

        assertThat(table.algorithms()).extracting(ConvolutionAlgorithm::parts).containsExactly(1, 1);
    }

    @Test
    void search_whenLimited_runsNothingAboveTheLimit() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 100 * MIB}, new long[] {500, 1});

        search(OPTIONS, calls);

        assertThat(calls.ran).allMatch(way -> way.scratchBytes() <= 64 * MIB);
    }

    @Test
    void search_whenHopeless_runsNoMoreThanToSeeThat() {
        FakeCalls calls = new FakeCalls(
                ConvolutionPass.FORWARD, new long[] {10, 0, 0, 10}, new long[] {100, 10_000, 30_000_000, 10_000});

        search(OPTIONS, calls);

        assertThat(runs(calls, 1)).as("may load code").isEqualTo(2);
        assertThat(runs(calls, 2)).as("takes longer than loading code").isEqualTo(1);
        assertThat(runs(calls, 3)).as("needs no less scratch memory").isEqualTo(1);
    }

    private static long runs(FakeCalls calls, int id) {
        return calls.ran.stream().filter(way -> way.id() == id).count();
    }

    @Test
    void search_whenCodeIsLoadedFirst_tellsTheTimeWithoutThat() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {10, 0}, new long[] {100, 90});
        calls.loadingNanos = 3_000_000;

        AlgorithmTable table = search(OPTIONS, calls);

        assertThat(table.algorithms()).containsExactly(Ways.way(1, 0, 90), Ways.way(0, 80, 100));
    }

    @Test
    void search_leavesOutWhatFails() {
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 0, -1}, new long[] {5, 1, 1});
        calls.broken.add(1);

        assertThat(search(OPTIONS, calls).algorithms()).containsExactly(Ways.way(0, 0, 5));
    }

    @Test
    void search_withoutMeasuring_ranksAndRunsNothing() {
        CudnnOptions ranked = new CudnnOptions(true, true, false, 64 * MIB, 0, false, 4);
        FakeCalls calls = new FakeCalls(ConvolutionPass.FORWARD, new long[] {0, 100 * MIB, 10}, new long[] {5, 1, 1});

        AlgorithmTable table = search(ranked, calls);

        assertThat(table.algorithms()).containsExactly(Ways.way(2, 80, 1), Ways.way(0, 0, 2));
        assertThat(table.measured()).isFalse();
        assertThat(calls.ran).isEmpty();
    }

    private static AlgorithmTable search(CudnnOptions options, FakeCalls calls) {
        return new AlgorithmTuner(options, () -> calls.now).search(calls, 64 * MIB);
    }
}
