// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.strategy.Reuse;
import io.memopt.strategy.precision.Precision;
import java.util.OptionalDouble;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class StepTimesTest {
    private static final int BATCH = 32;
    private static final int SMALL = 2;

    private static Way parts(int parts) {
        PassKind pass = new PassKind(Keep.ALL, false, Caching.NONE, Precision.AS_CONFIGURED);
        return new Way(pass, parts, false, Reuse.PLANNED);
    }

    private static StepTimes times(OptionalDouble smallNanos) {
        return new StepTimes(kind -> 1, way -> 0, BATCH, SMALL, smallNanos);
    }

    private static void assertStep(StepTimes times, int parts, double nanos) {
        assertThat(times.step(parts(parts))).isCloseTo(nanos, Offset.offset(1e-6));
    }

    /** 60 for a pass, and 5 for each of its examples. */
    @Test
    void partsOfOtherSizes_areOnTheLineThroughAFewExamplesAndTheOneThatWasTimed() {
        StepTimes times = times(OptionalDouble.of(70));

        times.measured(parts(2), 140);

        assertStep(times, 2, 2 * 140);
        assertStep(times, 1, 60 + 32 * 5);
        assertStep(times, 4, 4 * (60 + 8 * 5));
        assertStep(times, 16, 16 * 70);
    }

    /** Parts of a minibatch of 32 are of 11, 11 and 10 examples. */
    @Test
    void partsThatDoNotDivideTheMinibatch_takeNoMoreThanTheirExamples() {
        StepTimes times = times(OptionalDouble.of(70));

        times.measured(parts(3), 60 + 11 * 5);

        assertStep(times, 3, 3 * 60 + 32 * 5);
    }

    @Test
    void parts_areAsManyAsThereAreSizes() {
        assertThat(PriceList.parts(33)).containsExactly(1, 2, 3, 4, 6, 7, 11, 17);
        assertThat(PriceList.parts(4)).containsExactly(1, 2);
        assertThat(PriceList.parts(3)).containsExactly(1);
        assertThat(PriceList.parts(100_000))
                .startsWith(1, 2, 3, 4, 6)
                .contains(50_000)
                .hasSizeLessThan(40);
    }

    /** A whole pass without scratch memory takes 32 longer, 1 for each example. */
    @Test
    void lessScratch_takesLongerInProportionToTheExamplesOfAPart() {
        StepTimes times = new StepTimes(
                kind -> 1, way -> way.scratchBytes() == 0 ? way.partOf(BATCH) : 0, BATCH, SMALL, OptionalDouble.of(70));

        times.measured(parts(2).withScratch(0, 0), 156);

        assertThat(times.step(parts(2).withScratch(0, 0))).isCloseTo(2 * 156, Offset.offset(1e-6));
        assertStep(times, 2, 2 * 140);
        assertThat(times.step(parts(4).withScratch(0, 0))).isCloseTo(4 * (100 + 8), Offset.offset(1e-6));
    }

    @Test
    void fewExamplesThatTookLonger_haveAllPassesTakeTheSame() {
        StepTimes times = times(OptionalDouble.of(150));

        times.measured(parts(2), 140);

        assertStep(times, 1, 140);
        assertStep(times, 4, 4 * 140);
    }

    @Test
    void fewExamplesThatTookNextToNothing_havePassesGoWithTheirExamples() {
        StepTimes times = times(OptionalDouble.of(1));

        times.measured(parts(2), 160);

        assertStep(times, 1, 320);
        assertStep(times, 8, 320);
    }

    @Test
    void withoutFewExamples_timeIsInProportion() {
        StepTimes times = times(OptionalDouble.empty());

        times.measured(parts(2), 140);

        assertStep(times, 1, 280);
        assertStep(times, 4, 280);
    }

    @Test
    void beforeAnythingWasTimed_timeIsInProportionToThatOfFewExamples() {
        StepTimes times = times(OptionalDouble.of(70));

        assertStep(times, 1, 70 * BATCH / SMALL);
        assertStep(times, 4, 70 * BATCH / SMALL);
    }
}
