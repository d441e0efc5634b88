// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceSummary;
import io.memopt.analysis.Advice;
import io.memopt.analysis.Growth;
import io.memopt.analysis.TraceAnalysis;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** What a page says first: what makes figures doubtful, the advice of the analysis, who grows, and who holds the peak. */
final class Findings {
    private static final long GROWTH_FROM = 1 << 20;
    private static final double SPARE_FROM = 0.25;
    private static final int MOST_GROWING = 3;

    /**
     * One finding.
     *
     * @param level {@code "bad"}, {@code "warn"} or {@code "info"}
     * @param effect what the action changes, {@code ""} when there is no action
     * @param action code or setting, {@code ""} for none
     * @param unknowns what the trace could not tell
     * @param search text that finds its owners on the page, {@code ""} for none
     */
    record Finding(
            String level, String title, String text, String effect, String action, String unknowns, String search) {}

    private final TraceReader reader;
    private final TraceSummary summary;
    private final PageRecorder recorder;
    private final TraceAnalysis analysis;
    private final List<Finding> findings = new ArrayList<>();

    Findings(TraceReader reader, TraceSummary summary, PageRecorder recorder, TraceAnalysis analysis) {
        this.reader = reader;
        this.summary = summary;
        this.recorder = recorder;
        this.analysis = analysis;
    }

    List<Finding> all() {
        completeness();
        failures();
        growth();
        analysis.advice().forEach(this::advice);
        peak();
        spareReserve();
        unseenParameters();
        return findings;
    }

    private void completeness() {
        if (summary.events() == 0) {
            add("info", "The trace has no events", "Nothing happened while it was recorded, or it was cut off.", "");
        }
        if (recorder.lifetimes.detailedUntil() >= 0) {
            add(
                    "info",
                    "Single events are shown up to "
                            + String.format(Locale.ROOT, "%.3f s", recorder.lifetimes.detailedUntil() / 1e9),
                    "The trace is too long for one page. Later times are shown from afar, with exact maxima; totals, tables"
                            + " and peaks are of the whole trace.",
                    "");
        }
        if (!recorder.scan.replay().isExact() || summary.lostEvents() > 0) {
            add(
                    "bad",
                    "Events are missing",
                    Count.was(summary.lostEvents(), "event") + " lost and " + Count.was(summary.corruptBytes(), "byte")
                            + " damaged, so all figures are estimates. Record with a larger queue or to a faster disk.",
                    "");
        } else if (summary.ending() == TraceSummary.Ending.LIMIT_REACHED) {
            add(
                    "warn",
                    "The trace reached its size limit",
                    "What happened later is not in it. Raise traceMaxBytes to record more.",
                    "");
        } else if (summary.ending() == TraceSummary.Ending.OPEN) {
            add(
                    "warn",
                    "The trace has no end",
                    "The program was killed, or still runs. Everything up to there is exact.",
                    "");
        }
    }

    private void failures() {
        if (recorder.failures > 0) {
            add(
                    "bad",
                    Count.was(recorder.failures, "allocation") + " refused",
                    "The largest asked for " + ByteSize.scaled(recorder.failedBytes)
                            + ". The last request is rarely the cause: see who holds memory at the peak.",
                    "");
        }
    }

    private void growth() {
        List<Growth> growing = analysis.growth().stream()
                .filter(Growth::isSignificant)
                .filter(growth -> growth.lastBytes() - growth.firstBytes() >= GROWTH_FROM)
                .toList();
        if (growing.isEmpty()) {
            return;
        }
        Growth first = growing.get(0);
        double sum = growing.stream().mapToDouble(Growth::bytesPerStep).sum();
        String rate =
                ByteSize.scaled(Math.round(sum)) + " per " + first.step().name().toLowerCase(Locale.ROOT);
        String rest = growing.size() > MOST_GROWING ? "; and " + (growing.size() - MOST_GROWING) + " more" : "";
        add(
                "bad",
                growing.size() == 1
                        ? title(first.owner()) + " keeps growing, " + rate
                        : growing.size() + " owners keep growing, " + rate + " together",
                growing.stream()
                        .limit(MOST_GROWING)
                        .map(growth -> title(growth.owner()) + " from " + ByteSize.scaled(growth.firstBytes()) + " to "
                                + ByteSize.scaled(growth.lastBytes()) + ", "
                                + ByteSize.scaled(Math.round(growth.bytesPerStep()))
                                + " a step (" + ByteSize.scaled(Math.round(growth.lowBytesPerStep())) + " to "
                                + ByteSize.scaled(Math.round(growth.highBytesPerStep())) + " at 95 %)")
                        .collect(Collectors.joining("; ", "", rest + ".")),
                search(first.owner()));
    }

    private void advice(Advice advice) {
        List<String> effects = new ArrayList<>();
        if (advice.savedBytes() > 0) {
            long percent = Math.round(100.0 * advice.savedBytes() / advice.peakBefore());
            effects.add("saves " + ByteSize.scaled(advice.savedBytes()) + " of the reserved peak ("
                    + (percent == 0 ? "below 1" : percent) + " %)");
        }
        if (advice.savedAtEnd() > 0) {
            effects.add(ByteSize.scaled(advice.savedAtEnd()) + " at the end");
        }
        if (advice.savingIsUnknown()) {
            effects.add("saving unknown");
        }
        effects.add("results " + advice.exactness().name().toLowerCase(Locale.ROOT));
        effects.add("time: " + advice.timeCost());
        findings.add(new Finding(
                advice.savingIsUnknown() ? "info" : "warn",
                title(advice.kind()),
                advice.finding(),
                String.join(" · ", effects),
                advice.action(),
                advice.unknowns(),
                ""));
    }

    private void peak() {
        for (MemorySpace space : recorder.scan.spaces()) {
            Map<Integer, long[]> owners = recorder.peaks.getOrDefault(space, Map.of());
            long total = owners.values().stream().mapToLong(sums -> sums[0]).sum();
            owners.entrySet().stream()
                    .max(Map.Entry.comparingByValue((a, b) -> Long.compare(a[0], b[0])))
                    .ifPresent(most -> add(
                            "info",
                            "At the peak " + title(reader.owner(most.getKey())) + " holds most",
                            ByteSize.scaled(most.getValue()[0]) + " in " + Count.of(most.getValue()[1], "array") + ", "
                                    + Math.round(100.0 * most.getValue()[0] / total) + " % of the "
                                    + ByteSize.scaled(total) + " in use.",
                            search(reader.owner(most.getKey()))));
        }
    }

    private void spareReserve() {
        for (MemorySpace space : recorder.scan.spaces()) {
            long reserved = recorder.scan.replay().peakReservedBytes(space);
            long used = recorder.scan.replay().peakInUseBytes(space);
            long spare = reserved - used;
            if (spare > reserved * SPARE_FROM && spare >= GROWTH_FROM) {
                add(
                        "info",
                        ByteSize.scaled(spare) + " more was reserved than was ever in use at once",
                        "Workspaces hold their full size all the time, though they are full at different moments: "
                                + ByteSize.scaled(reserved) + " reserved against " + ByteSize.scaled(used)
                                + " in use, in " + space.name().toLowerCase(Locale.ROOT) + " memory.",
                        "");
            }
        }
    }

    private void unseenParameters() {
        boolean trained = recorder.scan.iterations() > 0;
        boolean seen = reader.owners().values().stream().anyMatch(owner -> owner.category() == Category.PARAMETERS);
        if (trained && !seen) {
            add(
                    "info",
                    "The parameters are not in these figures",
                    "They were allocated before recording began, and a trace knows only what it saw.",
                    "");
        }
    }

    private static String title(Advice.Kind kind) {
        return switch (kind) {
            case OUTPUT_IN_WORKSPACE -> "Let output() write into a workspace";
            case CLOSE_DETACHED -> "Release what layers detach while training";
            case WORKSPACE_MODE -> "Train in workspaces";
            case WORKSPACE_INITIAL_SIZE -> "Give workspaces their size from the start";
            case FEWER_THREADS -> "Serve with fewer threads";
            case SHUT_DOWN_PREFETCHER -> "Shut down prefetchers that are no longer read";
            case PREFETCH_LESS -> "Prefetch fewer batches";
            case PLAN_ARRAYS -> "Place arrays by plan";
            case AVOID_FORCED_GC -> "Avoid forced garbage collections";
        };
    }

    private static String title(Owner owner) {
        String what = owner.category().name().toLowerCase(Locale.ROOT).replace('_', ' ');
        String of = owner.layer().isEmpty() ? owner.network() : owner.layer();
        String phase =
                owner.phase() == Phase.NONE ? "" : ", " + owner.phase().name().toLowerCase(Locale.ROOT);
        return what + (of.isEmpty() ? "" : " of " + of) + phase;
    }

    private static String search(Owner owner) {
        String category = owner.category().name().toLowerCase(Locale.ROOT).replace('_', ' ');
        return owner.layer().isEmpty() ? category : owner.layer() + " " + category;
    }

    private void add(String level, String title, String text, String search) {
        findings.add(new Finding(level, title, text, "", "", "", search));
    }
}
