// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.ByteSize;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.regex.Pattern;

/** Writes a {@link MemorySummary} as text. */
final class SummaryText {
    private static final int TOP_LAYERS = 12;
    private static final int TOP_ROWS = 8;
    private static final int LONGEST_NAME = 60;
    private static final long KIB = 1 << 10;
    private static final long MIB = 1 << 20;

    /** Runs that never held this much are told in KiB. */
    private static final long SMALL_BELOW = 8 * MIB;

    private static final Pattern CONTROL = Pattern.compile("\\p{Cntrl}");

    private final StringBuilder out = new StringBuilder(4096);
    private final MemorySummary summary;
    private final long unit;
    private final String unitName;

    private SummaryText(MemorySummary summary) {
        this.summary = summary;
        boolean small = summary.reservedPeak().bytes() < SMALL_BELOW;
        this.unit = small ? KIB : MIB;
        this.unitName = small ? "KiB" : "MiB";
    }

    static String render(MemorySummary summary) {
        return new SummaryText(summary).render();
    }

    private String render() {
        heading();
        totals();
        networks();
        flows();
        layers();
        workspaces();
        threads();
        prefetchers();
        garbage();
        operations();
        summary.budgets().forEach(budget -> line("%s", budget));
        notes();
        return out.toString();
    }

    private void heading() {
        line("== Memory summary ==");
        summary.environment().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(fact -> line("%-18s %s", fact.getKey(), fact.getValue()));
        line("%-18s %d, median step %s", "iterations", summary.iterations(), millis(summary.stepMillisMedian()));
        String extra = ExtraPassText.of(summary.extraPasses());
        if (!extra.isEmpty()) {
            line("%-18s %s", "extra passes", extra);
        }
        line("");
    }

    private void totals() {
        line("%-18s %s", "reserved now", ByteSize.format(summary.reservedBytes()));
        line(
                "%-18s %s  %s",
                "reserved peak", ByteSize.format(summary.reservedPeak().bytes()), at(summary.reservedPeak()));
        line("%-18s %s", "in use now", ByteSize.format(summary.usedBytes()));
        line("%-18s %s  %s", "in use peak", ByteSize.format(summary.usedPeak().bytes()), at(summary.usedPeak()));
        line("%-18s %s", "process resident", optional(summary.residentBytes()));
        line(
                "%-18s %s (native temporaries, allocator retention, libraries; an estimate)",
                "unattributed", optional(summary.unattributedBytes()));
        if (summary.releasedBytes() > 0) {
            line(
                    "%-18s %s of detached arrays, as soon as they were dead",
                    "released", ByteSize.format(summary.releasedBytes()));
        }
        line("%-18s %.2f %% of all allocated bytes", "attributed", 100 * summary.attributedShare());
        line(
                "%-18s %.3f %% of the time, %s",
                "recording cost", 100 * summary.overheadShare(), Count.of(summary.events(), "event"));
        line("");
    }

    /** Told only when there are several: of one, everything else tells. */
    private void networks() {
        if (!several()) {
            return;
        }
        line("%-34s %10s %12s %14s %18s", "Networks", "iterations", "median step", "in use now", "alloc. an iteration");
        for (MemorySummary.NetworkRow row : first(summary.networks(), 2 * TOP_ROWS)) {
            line(
                    "  %-32s %10d %12s %14s %18s",
                    cut(row.network(), 32),
                    row.iterations(),
                    millis(row.stepMillisMedian()),
                    mib8(row.usedBytes()),
                    row.iterations() == 0 ? "" : mib8(row.allocatedBytes() / row.iterations()));
        }
        if (summary.networks().size() > 2 * TOP_ROWS) {
            line("  ... and %d more", summary.networks().size() - 2 * TOP_ROWS);
        }
        line("");
    }

    private boolean several() {
        return summary.networks().size() > 1;
    }

    /** The network of a row, in a column that is only there when there are several. */
    private String column(String network) {
        return several() ? format("%-24s ", cut(network, 24)) : "";
    }

    /** Category by phase: bytes allocated per iteration, and what is in use now and was at the peak. */
    private void flows() {
        List<Phase> phases = new ArrayList<>();
        for (Phase phase : Phase.values()) {
            if (summary.flows().stream().anyMatch(flow -> flow.phase() == phase)) {
                phases.add(phase);
            }
        }
        StringBuilder head = new StringBuilder(format("%-22s %10s %10s", unitName, "now", "at peak"));
        phases.forEach(phase -> head.append(format(" %10s", name(phase))));
        line("Categories; by phase: allocated "
                + (summary.iterations() > 0 ? "per iteration" : "since attached, before any iteration"));
        line(head.toString());
        for (Category category : Category.values()) {
            long now = summary.liveByCategory().getOrDefault(category, 0L);
            long peak = summary.usedPeak().inUse().getOrDefault(category, 0L);
            StringBuilder row = new StringBuilder(format("%-22s %s %s", name(category), mib(now), mib(peak)));
            long all = now + peak;
            for (Phase phase : phases) {
                long bytes = flow(category, phase);
                all += bytes;
                row.append(' ').append(mib((double) bytes / Math.max(1, summary.iterations())));
            }
            if (all > 0) {
                line(row.toString());
            }
        }
        line("");
    }

    private void layers() {
        table(
                "Largest layers (most in use during one phase)",
                summary.layers(),
                TOP_LAYERS,
                row -> format(
                        "%s%-34s %-12s %s %s",
                        column(row.network()),
                        cut(row.layer(), 34),
                        name(row.phase()),
                        mib(row.peakBytes()),
                        unitName));
    }

    private void workspaces() {
        if (summary.workspaces().isEmpty()) {
            return;
        }
        line(
                "%-26s %8s %12s %12s %9s %12s %8s",
                "Workspaces", "threads", "reserved", "needed", "spills", "spilled", "resizes");
        for (MemorySummary.WorkspaceRow row : first(summary.workspaces(), 2 * TOP_ROWS)) {
            line(
                    "%-26s %8d %s %s %9d %s %8d",
                    cut(row.name(), 26),
                    row.instances(),
                    mib8(row.reservedBytes()),
                    mib8(row.maxCycleBytes()),
                    row.spills(),
                    mib8(row.spilledBytes()),
                    row.resizes());
        }
        line("");
    }

    private void threads() {
        table(
                "Workspace memory by thread",
                summary.threads().stream()
                        .filter(row -> row.workspaceBytes() > 0)
                        .toList(),
                TOP_ROWS,
                row -> format(
                        "%-34s %s " + unitName + "   idle %8.1f s%s",
                        cut(row.thread(), 34),
                        mib(row.workspaceBytes()),
                        row.idleSeconds(),
                        row.alive() ? "" : "   (ended)"));
    }

    private void prefetchers() {
        table(
                "Prefetching iterators (need = (depth + 3) x batch x 1.3)",
                summary.prefetchers(),
                TOP_ROWS,
                row -> format(
                        "%-34s depth %d, batch %s, needs %s, holds %s",
                        cut(row.name(), 34),
                        row.depth(),
                        ByteSize.scaled(row.batchBytes()),
                        ByteSize.scaled(row.expectedBytes()),
                        ByteSize.scaled(row.reservedBytes())));
    }

    private void garbage() {
        table(
                "Detached arrays that only close() or the Java garbage collector frees",
                summary.garbage(),
                TOP_ROWS,
                row -> format(
                        "%s " + unitName + " in %s, oldest %.1f s, phase %s%s%s%s%s",
                        mib(row.bytes()).strip(),
                        Count.of(row.arrays(), "array"),
                        row.oldestSeconds(),
                        name(row.phase()),
                        several() && !row.network().isEmpty() ? " of " + cut(row.network(), LONGEST_NAME) : "",
                        row.layer().isEmpty()
                                ? ""
                                : ", " + (row.layer().endsWith(" layers") ? "" : "layer ")
                                        + cut(row.layer(), LONGEST_NAME),
                        row.bytesPerPass() == 0 ? "" : ", " + ByteSize.scaled(row.bytesPerPass()) + " per pass",
                        row.site().isEmpty() ? "" : ", made by " + row.site()));
    }

    private void operations() {
        table(
                "Native memory of operations (growth of the resident size during one call)",
                summary.operations(),
                TOP_ROWS,
                row -> format(
                        "%-34s %s " + unitName + "   %s",
                        cut(row.operation(), 34),
                        mib(row.peakBytes()),
                        Count.of(row.calls(), "call")));
    }

    private void notes() {
        table("What stands out", summary.notes(), Integer.MAX_VALUE, note -> "* " + note);
    }

    private <T> void table(String title, List<T> rows, int most, Function<T, String> format) {
        if (rows.isEmpty()) {
            return;
        }
        line(title);
        first(rows, most).forEach(row -> line("  " + format.apply(row)));
        if (rows.size() > most) {
            line("  ... and %d more", rows.size() - most);
        }
        line("");
    }

    private long flow(Category category, Phase phase) {
        return summary.flows().stream()
                .filter(flow -> flow.category() == category && flow.phase() == phase)
                .mapToLong(MemorySummary.Flow::allocatedBytes)
                .sum();
    }

    private static <T> Collection<T> first(List<T> rows, int most) {
        return rows.subList(0, Math.min(most, rows.size()));
    }

    private static String at(MemorySummary.Peak peak) {
        String layer = peak.layer().isEmpty() ? "" : ", layer " + cut(peak.layer(), LONGEST_NAME);
        String iteration = peak.iteration() < 0 ? "" : "at iteration " + peak.iteration();
        return peak.bytes() == 0
                ? ""
                : (iteration + ", phase " + name(peak.phase()) + layer).replaceFirst("^, ", "in ");
    }

    private static String optional(OptionalLong bytes) {
        return bytes.isPresent() ? ByteSize.format(bytes.getAsLong()) : "unknown on this system";
    }

    private static String name(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    private static String millis(double millis) {
        return Double.isNaN(millis) ? "unknown" : format("%.1f ms", millis);
    }

    private String mib(long bytes) {
        return mib((double) bytes);
    }

    private String mib(double bytes) {
        return format("%10.2f", bytes / unit);
    }

    private String mib8(long bytes) {
        return format("%8.2f " + unitName, (double) bytes / unit);
    }

    /** Names are the user's: they may have line ends or be of any length. */
    private static String cut(String text, int length) {
        String printable = CONTROL.matcher(text).replaceAll("?");
        return printable.length() <= length ? printable : printable.substring(0, length - 1) + "~";
    }

    private void line(String text) {
        out.append(text.stripTrailing()).append('\n');
    }

    private void line(String format, Object... values) {
        line(format(format, values));
    }

    /** Digits and separators are the same everywhere, whatever the language of the machine. */
    private static String format(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }
}
