// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.recording.ByteSize;
import java.util.Locale;

/** Writes a {@link BudgetReport} for people. */
final class BudgetText {
    private static final double MIB = 1 << 20;

    private BudgetText() {}

    static String of(BudgetReport report) {
        StringBuilder text = new StringBuilder();
        text.append(String.format(
                Locale.ROOT,
                "Budget %s for minibatches of %d: %s%n",
                ByteSize.format(report.limitBytes()),
                report.batch(),
                report.chosen().strategy()));
        text.append(String.format(Locale.ROOT, "  %10s %10s  %s%n", "peak MiB", "step ms", "results"));
        row(text, report.plain(), "before: ");
        for (BudgetRow row : report.front()) {
            row(text, row, row.equals(report.chosen()) ? "chosen: " : "");
        }
        if (!report.front().contains(report.chosen())) {
            row(text, report.chosen(), "chosen: ");
        }
        report.actualPeakBytes()
                .ifPresent(bytes -> text.append(String.format(
                        Locale.ROOT,
                        "  %10.1f %10s  %-9s  actual%n",
                        bytes / MIB,
                        report.actualStepMillis().isPresent()
                                ? String.format(
                                        Locale.ROOT,
                                        "%.1f",
                                        report.actualStepMillis().getAsDouble())
                                : "",
                        "")));
        text.append(String.format(
                Locale.ROOT,
                "  decided in %.1f s%s, with at most %s%n",
                report.decidingMillis() / 1000,
                report.remembered() ? " from the profile" : "",
                ByteSize.format(report.decidingBytes())));
        return text.toString();
    }

    private static void row(StringBuilder text, BudgetRow row, String mark) {
        text.append(String.format(
                Locale.ROOT,
                "  %10.1f %10.1f  %-9s  %s%s%n",
                row.peakBytes() / MIB,
                row.stepMillis(),
                row.exactness().name().toLowerCase(Locale.ROOT),
                mark,
                row.strategy()));
    }
}
