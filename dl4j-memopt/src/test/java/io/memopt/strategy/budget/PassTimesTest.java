// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** What counts of passes whose times are scripted. */
class PassTimesTest {
    private final Script script = new Script();

    /** Time goes on by what passes take; the last entry is repeated. */
    private static final class Script implements PassTimes.Clock {
        private List<Pass> passes = List.of();
        private int computed;
        private long now = 1_000_000;
        private long collections = 7;

        private boolean compute() {
            Pass pass = passes.get(Math.min(computed, passes.size() - 1));
            computed++;
            now += pass.nanos;
            collections += pass.collections;
            return pass.settled;
        }

        @Override
        public long nanos() {
            return now;
        }

        @Override
        public long collections() {
            return collections;
        }
    }

    private record Pass(long nanos, int collections, boolean settled) {}

    private static Pass clear(long nanos) {
        return new Pass(nanos, 0, true);
    }

    private static Pass collected(long nanos) {
        return new Pass(nanos, 1, true);
    }

    private static Pass unsettled(long nanos) {
        return new Pass(nanos, 0, false);
    }

    private double typical(long nanos, Pass... passes) {
        script.passes = List.of(passes);
        return new PassTimes(script).typical(script::compute, nanos, 1).orElseThrow();
    }

    @Test
    void passesThatAreRecordedOrProved_doNotCount() {
        double typical = typical(300, unsettled(900), unsettled(700), clear(500), clear(100));

        assertThat(typical).isEqualTo(100);
        assertThat(script.computed).isEqualTo(3 + 3);
    }

    @Test
    void passThatIsRecordedInBetween_doesNotCount() {
        assertThat(typical(500, clear(100), clear(100), unsettled(400))).isEqualTo(100);
        assertThat(script.computed).isEqualTo(1 + 3);
    }

    @Test
    void passesThatAreNeverSettled_haveNoTime() {
        script.passes = List.of(unsettled(100));

        assertThat(new PassTimes(script).typical(script::compute, 300, 1)).isEmpty();
        assertThat(script.computed).isEqualTo(PassTimes.MAX_UNSETTLED);
    }

    /** As it was with an LSTM in parts: of the later three of five passes the collector had stopped two. */
    @Test
    void passesThatTheCollectorStopped_doNotCount() {
        double typical =
                typical(600, clear(222), clear(80), clear(79), collected(212), collected(151), clear(98), clear(90));

        assertThat(typical).isEqualTo(79);
    }

    /** One stop of 120 in a step of four passes, of which it stops one in five. */
    @Test
    void passesOfAStepInParts_haveTheStopsThatComeInIt() {
        script.passes = List.of(clear(80), clear(80), clear(80), collected(200), clear(80));

        assertThat(new PassTimes(script).typical(script::compute, 500, 4)).hasValue(80 + 120 / 4.0);
    }

    @Test
    void stopThatFewStepsHave_doesNotCount() {
        script.passes = List.of(clear(80), collected(200), clear(80));

        assertThat(new PassTimes(script).typical(script::compute, 1000, 4)).hasValue(80);
    }

    @Test
    void passesThatTheCollectorAllStopped_areAllThereIs() {
        assertThat(typical(300, clear(50), collected(100))).isEqualTo(100);
    }

    /** They would be there in training, too. */
    @Test
    void passesOfWhichTheCollectorStoppedMost_allCount() {
        assertThat(typical(400, clear(50), clear(60), collected(150), collected(150), collected(150)))
                .isEqualTo(150);
    }

    @Test
    void fewClearPasses_areTimedForHalfAsLongAgain() {
        typical(300, clear(50), collected(150));

        assertThat(script.computed).isEqualTo(1 + 3);
    }

    @Test
    void longPass_isTimedOnce() {
        assertThat(typical(300, clear(1000), clear(500))).isEqualTo(500);
        assertThat(script.computed).isEqualTo(2);
    }

    @Test
    void earlierHalf_isThatOfAJvmThatHasNotCompiledThem() {
        assertThat(typical(300, clear(100), clear(90), clear(80), clear(30), clear(20), clear(10)))
                .isEqualTo(10);
    }

    @Test
    void shortPasses_areTimedSoOften() {
        typical(1_000_000, clear(1));

        assertThat(script.computed).isEqualTo(1 + PassTimes.MAX_TIMINGS);
    }
}
