// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.plan.PlanOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ArenaPlanTest {
    private static final int ARRAYS = 60;

    /** No array that is born, or still may be used, has a byte of what is lent. */
    @Test
    void spare_isNobodysUntilTheNextBirth() {
        Random random = new Random(5);
        int lent = 0;
        for (int round = 0; round < 40; round++) {
            List<PlannedArray> arrays = arrays(random);
            ArenaPlan plan = ArenaPlan.of(arrays, PlanOptions.greedy());
            PlanCursor cursor = new PlanCursor(plan);
            for (int born = 0; born <= ARRAYS; born++) {
                long wanted = 64L * (1 + random.nextInt(40));
                long arena = plan.height() + 64L * random.nextInt(20);
                long offset = cursor.spare(wanted, arena);
                if (offset != PlanCursor.MISS) {
                    lent++;
                    assertThat(offset).isNotNegative();
                    assertThat(offset + wanted).isLessThanOrEqualTo(arena);
                    assertFree(plan, born, offset, wanted);
                } else {
                    assertThat(arena - plan.spare(born).top()).isLessThan(wanted);
                }
                assertThat(plan.lends(born, wanted))
                        .isEqualTo(
                                cursor.spare(wanted + ArenaPlan.SPARE_ALIGNMENT - 1, plan.height()) != PlanCursor.MISS);
                if (born < ARRAYS) {
                    cursor.place("W", arrays.get(born).roundedBytes());
                }
            }
        }
        assertThat(lent).isGreaterThan(500);
    }

    @Test
    void spare_afterAMiss_isNone() {
        PlanCursor cursor = new PlanCursor(ArenaPlan.of(arrays(new Random(1)), PlanOptions.greedy()));
        assertThat(cursor.spare(64, 1 << 20)).isNotEqualTo(PlanCursor.MISS);
        cursor.place("other", 64);
        assertThat(cursor.spare(64, 1 << 20)).isEqualTo(PlanCursor.MISS);
    }

    private static List<PlannedArray> arrays(Random random) {
        List<PlannedArray> arrays = new ArrayList<>();
        for (int birth = 0; birth < ARRAYS; birth++) {
            int lastUse = birth + 1 + random.nextInt(20);
            long bytes = 64L * (1 + random.nextInt(30));
            arrays.add(new PlannedArray("W", bytes, bytes, birth, lastUse, lastUse + random.nextInt(5)));
        }
        return arrays;
    }

    private static void assertFree(ArenaPlan plan, int born, long offset, long bytes) {
        for (int i = 0; i < born; i++) {
            PlannedArray array = plan.arrays().get(i);
            boolean over = array.end() < born;
            boolean apart = plan.offset(i) + array.roundedBytes() <= offset || offset + bytes <= plan.offset(i);
            assertThat(over || apart).as("array %s after %s births", i, born).isTrue();
        }
    }
}
