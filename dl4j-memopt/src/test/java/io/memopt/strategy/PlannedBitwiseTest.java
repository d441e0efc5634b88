// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.factory.Nd4j;

/** Planned workspaces change no bit: scores, outputs, activations that a listener reads, parameters, updater state. */
class PlannedBitwiseTest {
    private static final MemOptConfig PLANNED =
            MemOptConfig.builder().reuse(Reuse.PLANNED).build();

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "ZOO_RESNET50")
    void fewIterations_equalPlain(TrainingCases each) {
        compare(each, 14);
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource(TrainingCases.class)
    void manyIterations_equalPlain(TrainingCases each) {
        compare(each, 200);
    }

    private static void compare(TrainingCases each, int iterations) {
        MemoryHooks.uninstall();
        Diary plain = train(each, iterations, false);
        Diary planned = train(each, iterations, true);
        planned.assertSameAs(plain);
        assertThat(planned.hasActivations()).isTrue();
    }

    /**
     * The first half without a listener that reads activations, the second half with one. Long runs ask less often: most of
     * their time would go into writing checkpoints of ResNet50.
     */
    private static Diary train(TrainingCases each, int iterations, boolean planned) {
        Nd4j.getRandom().setSeed(7);
        Model model = each.create();
        Diary diary = new Diary();
        MemOpt memopt = planned ? MemOpt.attach(model, PLANNED) : null;
        int interval = Math.max(5, iterations / 10);
        for (int i = 0; i < iterations; i++) {
            if (i == iterations / 2) {
                model.addListeners(diary.new ActivationStatistics());
            }
            TrainingCases.fit(model, each.data(i));
            diary.score(model);
            if (i % interval == interval - 1) {
                diary.ask(model, each.data(i + 1));
            }
        }
        diary.close(model);
        if (memopt != null) {
            assertServed(memopt.plans());
            memopt.close();
        }
        return diary;
    }

    private static void assertServed(List<PlanRow> plans) {
        assertThat(plans).isNotEmpty().allSatisfy(plan -> {
            assertThat(plan.state()).as("%s", plan).isIn("TRUSTED", "UNKNOWN");
            assertThat(plan.missed()).as("%s", plan).isZero();
            // Most meet the bound; the planner has 200 ms, of which a busy machine may leave little.
            assertThat(plan.arenaBytes()).as("%s", plan).isLessThanOrEqualTo(plan.lowerBoundBytes() * 11 / 10);
        });
        assertThat(plans)
                .filteredOn(plan -> plan.pass().startsWith("WS_ALL_LAYERS_ACT batch"))
                .extracting(PlanRow::served)
                .anySatisfy(served -> assertThat(served).isPositive());
    }
}
