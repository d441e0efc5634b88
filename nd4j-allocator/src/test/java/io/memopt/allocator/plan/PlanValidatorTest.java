// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class PlanValidatorTest {
    @Test
    void validate_ofAGoodPlan_isItsHeight() {
        PlanProblem problem =
                PlanProblem.builder().add(0, 3, 4).add(3, 9, 4).add(0, 9, 2).build();

        assertThat(PlanValidator.validate(problem, new long[] {2, 2, 0})).isEqualTo(6);
    }

    @Test
    void validate_ofOverlap_namesBothBuffers() {
        PlanProblem problem =
                PlanProblem.builder().add(0, 3, 4).add(5, 9, 4).add(2, 6, 4).build();

        refused(problem, "buffers 0 and 2 overlap", 0, 0, 3);
        refused(problem, "buffers 2 and 1 overlap", 0, 3, 4);
        refused(problem, "buffers 0 and 2 overlap", 0, 9, 0);
    }

    @Test
    void validate_ofOneByteInsideAnother_isRefused() {
        PlanProblem problem = PlanProblem.builder().add(0, 3, 9).add(1, 2, 1).build();

        refused(problem, "overlap", 0, 8);
        assertThat(PlanValidator.validate(problem, new long[] {0, 9})).isEqualTo(10);
    }

    @Test
    void validate_ofMisalignment_isRefused() {
        PlanProblem problem = PlanProblem.builder().add(0, 3, 4).alignment(8).build();

        refused(problem, "alignment=8", 4);
        refused(problem, "offset=-8", -8);
    }

    @Test
    void validate_ofAMovedFixedBuffer_isRefused() {
        refused(PlanProblem.builder().add(0, 3, 4).fixedAt(8).build(), "fixed at 8", 0);
    }

    @Test
    void validate_ofGaps_letsOthersIn() {
        PlanProblem problem =
                PlanProblem.builder().add(0, 9, 4).gap(3, 5).add(3, 5, 4).build();
        PlanProblem longer =
                PlanProblem.builder().add(0, 9, 4).gap(3, 5).add(3, 6, 4).build();

        assertThat(PlanValidator.validate(problem, new long[] {0, 0})).isEqualTo(4);
        refused(longer, "overlap", 0, 0);
    }

    @Test
    void validate_ofWindows_keepsTheirBytes() {
        PlanProblem problem =
                PlanProblem.builder().add(0, 9, 4).gap(3, 5, 1, 2).add(3, 5, 2).build();

        assertThat(PlanValidator.validate(problem, new long[] {0, 2})).isEqualTo(4);
        refused(problem, "overlap", 0, 1);
        refused(problem, "overlap", 1, 1);
    }

    @Test
    void validate_ofTooFewOffsets_isRefused() {
        refused(PlanProblem.builder().add(0, 3, 4).build(), "0 offsets for 1 buffers");
    }

    private static void refused(PlanProblem problem, String complaint, long... offsets) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PlanValidator.validate(problem, offsets))
                .withMessageContaining(complaint);
    }
}
