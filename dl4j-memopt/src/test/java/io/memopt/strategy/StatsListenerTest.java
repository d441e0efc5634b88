// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import org.deeplearning4j.core.storage.Persistable;
import org.deeplearning4j.core.storage.StatsStorageRouter;
import org.deeplearning4j.core.storage.StorageMetaData;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.ui.model.stats.StatsListener;
import org.deeplearning4j.ui.model.stats.api.StatsReport;
import org.deeplearning4j.ui.model.stats.api.StatsType;
import org.deeplearning4j.ui.model.stats.api.SummaryType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.factory.Nd4j;

/** Deeplearning4j's StatsListener reads parameters, gradients, updates and activations every few iterations. */
class StatsListenerTest {
    private static final int ITERATIONS = 14;
    private static final int FREQUENCY = 3;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(names = {"LENET", "RESIDUAL_GRAPH"})
    void plannedWorkspaces_areReportedAsPlainOnes(TrainingCases each) {
        List<String> plain = reports(each, Reuse.OFF);
        List<String> planned = reports(each, Reuse.PLANNED);

        assertThat(plain)
                .hasSizeGreaterThanOrEqualTo(ITERATIONS / FREQUENCY)
                .allMatch(report -> report.contains("Activations"));
        assertThat(planned).isEqualTo(plain);
    }

    private static List<String> reports(TrainingCases each, Reuse reuse) {
        MemoryHooks.uninstall();
        Nd4j.getRandom().setSeed(7);
        Model model = each.create();
        Reports reports = new Reports();
        model.addListeners(new StatsListener(reports, FREQUENCY));
        try (MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().reuse(reuse).build())) {
            for (int i = 0; i < ITERATIONS; i++) {
                TrainingCases.fit(model, each.data(i));
            }
            if (reuse == Reuse.PLANNED) {
                assertThat(memopt.plans())
                        .extracting(PlanRow::served)
                        .anySatisfy(served -> assertThat(served).isPositive());
            }
        }
        return reports.texts;
    }

    /** What a report says about arrays; not its times and memory. */
    private static String text(StatsReport report) {
        StringBuilder text = new StringBuilder();
        text.append(report.getScore());
        for (StatsType type : StatsType.values()) {
            for (SummaryType summary : SummaryType.values()) {
                if (report.hasSummaryStats(type, summary)) {
                    text.append('\n').append(type).append(' ').append(summary).append(' ');
                    text.append(new TreeMap<>(
                            switch (summary) {
                                case Mean -> report.getMean(type);
                                case Stdev -> report.getStdev(type);
                                case MeanMagnitudes -> report.getMeanMagnitudes(type);
                            }));
                }
            }
        }
        return text.toString();
    }

    private static final class Reports implements StatsStorageRouter {
        private final List<String> texts = new ArrayList<>();

        @Override
        public void putUpdate(Persistable update) {
            texts.add(text((StatsReport) update));
        }

        @Override
        public void putUpdate(Collection<? extends Persistable> updates) {
            updates.forEach(this::putUpdate);
        }

        @Override
        public void putStorageMetaData(StorageMetaData data) {}

        @Override
        public void putStorageMetaData(Collection<? extends StorageMetaData> data) {}

        @Override
        public void putStaticInfo(Persistable info) {}

        @Override
        public void putStaticInfo(Collection<? extends Persistable> info) {}
    }
}
