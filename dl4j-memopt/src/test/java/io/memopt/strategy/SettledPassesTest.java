// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.nd4j.ArenaOptions;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.listeners.training.Trackers;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.testing.Networks;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.dataset.DataSet;

/** What a budget asks of each pass that it times, before its end is told: whether a plan served it. */
class SettledPassesTest {
    private static final int BATCH = 8;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LSTM_TEXT", "RESIDUAL_GRAPH"})
    void passAfterTheRecordedOne_isServed(Networks each) {
        assertThat(served(each, false, false)).containsExactly(false, true, true);
    }

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LSTM_TEXT", "RESIDUAL_GRAPH"})
    void rehearsedPass_isServedAtOnce(Networks each) {
        assertThat(served(each, false, true)).containsExactly(true, true, true);
    }

    /** With poison a plan that follows from others is proved, too. */
    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LSTM_TEXT", "RESIDUAL_GRAPH"})
    void rehearsedPassUnderPoison_isServedOnceItsPlanIsProved(Networks each) {
        assertThat(served(each, true, true)).containsExactly(false, true, true);
    }

    /** What three passes of one network say. */
    private static List<Boolean> served(Networks each, boolean poisons, boolean rehearsed) {
        Model model = each.create(WorkspaceMode.ENABLED);
        DataSet data = each.data(BATCH, 0);
        TrainingTracker tracker = Trackers.current();
        tracker.track(model);
        List<Boolean> served = new ArrayList<>();
        try (PlannedReuse reuse =
                PlannedReuse.begin(tracker, null, ArenaOptions.DEFAULTS, poisons, new ExcludedModels())) {
            SampleMinibatch.with(model, data.toMultiDataSet(), () -> {
                if (rehearsed) {
                    HeldMinibatch held = HeldMinibatch.of(model);
                    reuse.rehearseHeld(model, examples -> held.give(0, examples));
                    held.restore();
                }
                Untouched.by(model, () -> {
                    for (int i = 0; i < 3; i++) {
                        NetworkAccess.flatGradients(model);
                        NetworkAccess.computeSilently(model);
                        served.add(reuse.serves(model));
                        tracker.passEnded(model);
                    }
                });
            });
        }
        return served;
    }
}
