// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.ArrayBits;
import io.memopt.testing.Networks;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class PlannedReuseTest {
    private static final int ITERATIONS = 20;
    private static final MemOptConfig PLANNED =
            MemOptConfig.builder().reuse(Reuse.PLANNED).build();

    @ParameterizedTest
    @EnumSource(Networks.class)
    void training_equalsPlainBitForBit(Networks family) {
        Run plain = run(family, false);
        Run planned = run(family, true);
        assertThat(planned.scores).containsExactlyElementsOf(plain.scores);
        assertThat(ArrayBits.equal(planned.params, plain.params)).isTrue();
        System.out.println(family + " " + planned.plans);
        assertThat(planned.plans).isNotEmpty().allSatisfy(plan -> {
            assertThat(plan.state()).isEqualTo("TRUSTED");
            assertThat(plan.arenaBytes()).isLessThan(plan.scopeBytes());
            assertThat(1.0 * plan.arenaBytes() / plan.lowerBoundBytes()).isLessThanOrEqualTo(1.01);
        });
    }

    private record Run(INDArray params, List<Double> scores, List<PlanRow> plans) {}

    private static Run run(Networks family, boolean planned) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        List<Double> scores = new ArrayList<>();
        List<PlanRow> plans = List.of();
        MemOpt memopt = planned ? MemOpt.attach(model, PLANNED) : null;
        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(model, family.data(8, i));
            scores.add(model.score());
        }
        if (memopt != null) {
            plans = memopt.plans();
            System.out.println(memopt.summary());
            memopt.close();
        }
        return new Run(model.params().dup(), scores, plans);
    }
}
