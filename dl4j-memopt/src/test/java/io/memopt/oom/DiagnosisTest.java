// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.FailureMoment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Each class of cause by the figures that make it one; and the report that carries it. */
class DiagnosisTest {
    private static final OptionalLong UNKNOWN = OptionalLong.empty();

    @Test
    void textOfALimit_isALimit() {
        Evidence evidence = new Evidence(
                Exhaustion.JAVA_HEAP, Optional.empty(), UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, Evidence.Trend.NONE);
        assertThat(Diagnosis.of(evidence).cause()).isEqualTo(Cause.LIMIT_SETTING);
    }

    @Test
    void requestBeyondAllMemory_isCapacity() {
        Diagnosis diagnosis = Diagnosis.of(evidence(moment(5000, 10, Category.ACTIVATIONS, 0), Evidence.Trend.NONE));
        assertThat(diagnosis.cause()).isEqualTo(Cause.CAPACITY);
        assertThat(diagnosis.why()).contains("one request of 4.9 KiB (5000 B) exceeds all memory");
    }

    @Test
    void growthOverManyIterations_isGrowth() {
        FailureMoment moment = moment(100, 800, Category.ACTIVATIONS, 0);
        assertThat(Diagnosis.of(evidence(moment, new Evidence.Trend(32, 10, 310)))
                        .cause())
                .isEqualTo(Cause.GROWTH);
        assertThat(Diagnosis.of(evidence(moment, new Evidence.Trend(4, 80, 310)))
                        .cause())
                .isNotEqualTo(Cause.GROWTH);
        assertThat(Diagnosis.of(evidence(moment, new Evidence.Trend(32, 1, 31))).cause())
                .isNotEqualTo(Cause.GROWTH);
    }

    @Test
    void holesLargerThanTheRequest_areFragmentation() {
        assertThat(Diagnosis.of(evidence(moment(100, 800, Category.ACTIVATIONS, 150), Evidence.Trend.NONE))
                        .cause())
                .isEqualTo(Cause.FRAGMENTATION);
    }

    @Test
    void workingMemoryOfHalf_isASpike() {
        assertThat(Diagnosis.of(evidence(moment(600, 400, Category.WORKING_MEMORY, 0), Evidence.Trend.NONE))
                        .cause())
                .isEqualTo(Cause.SCRATCH_SPIKE);
        assertThat(Diagnosis.of(evidence(moment(600, 400, Category.ACTIVATIONS, 0), Evidence.Trend.NONE))
                        .cause())
                .isNotEqualTo(Cause.SCRATCH_SPIKE);
    }

    @Test
    void limitBelowWhatTheSystemHas_isTheSetting() {
        FailureMoment moment = moment(100, 800, Category.ACTIVATIONS, 0);
        Evidence limited = new Evidence(
                Exhaustion.NATIVE,
                Optional.of(moment),
                OptionalLong.of(850),
                OptionalLong.of(4000),
                OptionalLong.of(3000),
                OptionalLong.of(900),
                Evidence.Trend.NONE);
        assertThat(Diagnosis.of(limited).cause()).isEqualTo(Cause.LIMIT_SETTING);
    }

    @Test
    void othersWithMostOfTheMachine_areNamed() {
        FailureMoment moment = moment(100, 800, Category.ACTIVATIONS, 0);
        Evidence crowded = new Evidence(
                Exhaustion.NATIVE,
                Optional.of(moment),
                UNKNOWN,
                OptionalLong.of(4000),
                OptionalLong.of(50),
                OptionalLong.of(900),
                Evidence.Trend.NONE);
        assertThat(Diagnosis.of(crowded).cause()).isEqualTo(Cause.OTHER_PROCESS);
        assertThat(Diagnosis.of(evidence(moment, Evidence.Trend.NONE)).cause()).isEqualTo(Cause.CAPACITY);
    }

    @Test
    void report_showsRequestPictureAndRemedies() {
        FailureMoment moment = moment(100, 800, Category.ACTIVATIONS, 150);
        PostMortem dead = new PostMortem(
                "java.lang.RuntimeException: std::bad_alloc",
                Exhaustion.NATIVE,
                Diagnosis.of(evidence(moment, Evidence.Trend.NONE)),
                Optional.of(moment),
                "forward",
                OptionalInt.of(64),
                OptionalInt.of(16),
                new MemoryState(UNKNOWN, 1, 2, 3, UNKNOWN, UNKNOWN, UNKNOWN, List.of(new MemoryState.Holder("x", 7))),
                Evidence.Trend.NONE,
                List.of(new Remedy("Use batches of 16", "fits", OptionalLong.of(700), "NONE")));

        assertThat(dead.toString()).isEqualTo("""
                        Memory ran out: java.lang.RuntimeException: std::bad_alloc
                        Cause: fragmentation, workspaces held 150 B that no array used, more than the 100 B asked for, but each can use its own block only.
                        Asked for: 100 B of host memory, spill of WS, for activations.
                        By: layer conv1, forward of Net-1, after iteration 7. Held then: 800 B.
                        Batch: 64; largest that is predicted to fit: 16.
                        In use at that moment, by category:
                                 400 B  activations
                        By owner, largest first:
                        Blocks of workspaces, # used, . not used:
                          [##########..............................] 50 B of 200 B  WS, thread main
                        Largest hole: 150 B, in WS.
                        Held when this was written:
                                   7 B  x
                        What to do, best first:
                          1. Use batches of 16: fits; predicted peak 700 B.
                        """);
        assertThat(dead.toJson())
                .contains("\"largestBatch\": 16", "\"layer\": \"conv1\"", "\"cause\": \"fragmentation\"");
    }

    private static Evidence evidence(FailureMoment moment, Evidence.Trend trend) {
        return new Evidence(
                Exhaustion.NATIVE,
                Optional.of(moment),
                UNKNOWN,
                OptionalLong.of(4000),
                OptionalLong.of(2500),
                OptionalLong.of(900),
                trend);
    }

    private static FailureMoment moment(long asked, long held, Category category, long hole) {
        return new FailureMoment(
                0,
                1,
                7,
                MemorySpace.HOST,
                AllocationKind.SPILL,
                new Owner("Net-1", "conv1", Phase.FORWARD, category, "WS"),
                asked,
                held,
                Map.of(category, 400L),
                List.of(),
                hole == 0 ? List.of() : List.of(new FailureMoment.Block("WS", "main", 4096, hole + 50, 50)));
    }
}
