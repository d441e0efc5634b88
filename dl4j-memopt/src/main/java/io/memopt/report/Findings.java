// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceSummary;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Says in words what stands out in a trace: the finding, the numbers that show it, what to do. */
final class Findings {
    private static final double CLEAR_FIT = 0.8;
    private static final long GROWTH_FROM = 1 << 20;
    private static final long GARBAGE_FROM = 1 << 22;
    private static final double SPARE_FROM = 0.25;
    private static final int MOST_OF_A_KIND = 4;

    /**
     * One finding.
     *
     * @param level {@code "bad"}, {@code "warn"} or {@code "info"}
     * @param bytes what it is about, -1 when it has no size
     * @param search text that finds its owners on the page, {@code ""} for none
     */
    record Finding(String level, String title, String text, long bytes, String search) {}

    private final TraceReader reader;
    private final TraceSummary summary;
    private final PageRecorder recorder;
    private final List<Finding> findings = new ArrayList<>();

    Findings(TraceReader reader, TraceSummary summary, PageRecorder recorder) {
        this.reader = reader;
        this.summary = summary;
        this.recorder = recorder;
    }

    List<Finding> all() {
        completeness();
        failures();
        growth();
        detachedGarbage();
        spills();
        spareReserve();
        collections();
        unseenParameters();
        peak();
        return findings;
    }

    private void completeness() {
        if (!recorder.scan.replay().isExact() || summary.lostEvents() > 0) {
            add(
                    "bad",
                    "Events are missing",
                    summary.lostEvents() + " events were lost and " + summary.corruptBytes()
                            + " bytes are damaged, so all"
                            + " figures are estimates. Record with a larger queue or to a faster disk.",
                    -1,
                    "");
        } else if (summary.ending() != TraceSummary.Ending.CLOSED) {
            boolean full = summary.ending() == TraceSummary.Ending.LIMIT_REACHED;
            add(
                    "warn",
                    full ? "The trace reached its size limit" : "The trace has no end",
                    full
                            ? "What happened later is not in it. Raise traceMaxBytes to record more."
                            : "The program was killed, or still runs. Everything up to there is exact.",
                    -1,
                    "");
        }
    }

    private void failures() {
        if (recorder.failures > 0) {
            add(
                    "bad",
                    recorder.failures + " allocations were refused",
                    "The largest asked for " + ByteSize.scaled(recorder.failedBytes)
                            + ". The last request is rarely the cause: see who holds memory at the peak.",
                    recorder.failedBytes,
                    "");
        }
    }

    private void growth() {
        Map<Owner, Integer> ids = new HashMap<>();
        reader.owners().forEach((id, owner) -> ids.put(owner, id));
        record Growing(OwnerUsage usage, double perSample, long grown) {}
        recorder.scan.replay().usage(reader::owner).stream()
                .map(usage -> {
                    long[] values = recorder.history.of(ids.getOrDefault(usage.owner(), 0), usage.space());
                    OwnerHistory.Slope slope = OwnerHistory.slope(values, 1);
                    boolean clear = slope.fit() >= CLEAR_FIT && slope.bytesPerStep() > 0;
                    return new Growing(
                            usage, slope.bytesPerStep(), clear ? (long) (slope.bytesPerStep() * values.length / 2) : 0);
                })
                .filter(growing -> growing.grown >= GROWTH_FROM)
                .sorted((a, b) -> Long.compare(b.grown, a.grown))
                .limit(MOST_OF_A_KIND)
                .forEach(growing -> {
                    Owner owner = growing.usage.owner();
                    String rate = recorder.samplesByIteration()
                            ? ByteSize.scaled((long) (growing.perSample / recorder.sampleEvery())) + " per iteration"
                            : ByteSize.scaled(growing.grown) + " in the second half of the recording";
                    add(
                            "bad",
                            title(owner) + " keeps growing",
                            rate + "; " + ByteSize.scaled(growing.usage.liveBytes()) + " live at the end. "
                                    + remedy(owner),
                            growing.usage.liveBytes(),
                            search(owner));
                });
    }

    private static String remedy(Owner owner) {
        return switch (owner.phase()) {
            case INFERENCE, EVALUATION ->
                "Results of output() are detached arrays that only the Java garbage collector frees: close() them, or"
                        + " call output(x, false, workspace) inside a workspace scope.";
            default -> "Look for a list, a listener or a cache that keeps these arrays; dup() parts of large ones.";
        };
    }

    private void detachedGarbage() {
        long bytes = 0;
        long arrays = 0;
        for (OwnerUsage usage : recorder.scan.replay().usage(reader::owner)) {
            Phase phase = usage.owner().phase();
            boolean detached = usage.owner().workspace().isEmpty();
            if (detached && (phase == Phase.INFERENCE || phase == Phase.EVALUATION)) {
                bytes += usage.liveBytes();
                arrays += usage.liveBytes() > 0 ? 1 : 0;
            }
        }
        if (bytes >= GARBAGE_FROM && arrays > 0) {
            add(
                    "warn",
                    ByteSize.scaled(bytes) + " of results wait for the Java garbage collector",
                    "Arrays made during inference outside every workspace are still live. The collector does not see"
                            + " their size: close() results, or let output() write into a workspace.",
                    bytes,
                    "inference");
        }
    }

    private void spills() {
        record Need(long spills, long bytes, long resizes, long cycle) {}
        Map<String, Need> needs = new HashMap<>();
        recorder.workspaces.instances().forEach((id, instance) -> {
            if (instance.spills > 0) {
                needs.merge(
                        nameOf(id),
                        new Need(
                                instance.spills,
                                instance.spilledBytes,
                                Math.max(0, instance.blocks - 1),
                                instance.maxCycle),
                        (a, b) -> new Need(
                                a.spills + b.spills,
                                a.bytes + b.bytes,
                                a.resizes + b.resizes,
                                Math.max(a.cycle, b.cycle)));
            }
        });
        needs.entrySet().stream()
                .sorted((a, b) -> Long.compare(b.getValue().bytes, a.getValue().bytes))
                .limit(MOST_OF_A_KIND)
                .forEach(entry -> add(
                        "warn",
                        entry.getKey() + " spilled " + ByteSize.scaled(entry.getValue().bytes),
                        entry.getValue().spills + " arrays did not fit their workspace and got memory of their own; "
                                + entry.getValue().resizes + " resizes. An initial size of "
                                + entry.getValue().cycle + " bytes would have held every cycle.",
                        entry.getValue().bytes,
                        entry.getKey()));
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
                        spare,
                        "");
            }
        }
    }

    private void collections() {
        if (recorder.forcedCollections > 0) {
            add(
                    "warn",
                    recorder.forcedCollections + " garbage collections were forced by System.gc()",
                    "All collections together took "
                            + Duration.ofNanos(recorder.collectionNanos).toMillis()
                            + " ms. ND4J forces them when a workspace is destroyed and when it runs out of memory.",
                    -1,
                    "");
        }
    }

    private void unseenParameters() {
        boolean trained = recorder.scan.iterations() > 0;
        boolean seen = reader.owners().values().stream().anyMatch(owner -> owner.category() == Category.PARAMETERS);
        if (trained && !seen) {
            add(
                    "info",
                    "The parameters are not in these figures",
                    "They were allocated before recording began, and a trace knows only what it saw. Attach before init()"
                            + " to have them in it.",
                    -1,
                    "");
        }
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
                            ByteSize.scaled(most.getValue()[0]) + " in " + most.getValue()[1] + " arrays, "
                                    + Math.round(100.0 * most.getValue()[0] / total) + " % of the "
                                    + ByteSize.scaled(total) + " in use.",
                            most.getValue()[0],
                            search(reader.owner(most.getKey()))));
        }
    }

    private String nameOf(int workspace) {
        return reader.workspace(workspace).map(info -> info.name()).orElse("workspace " + workspace);
    }

    private static String title(Owner owner) {
        String what = owner.category().name().toLowerCase(Locale.ROOT).replace('_', ' ');
        String of = owner.layer().isEmpty() ? owner.network() : owner.layer();
        String phase =
                owner.phase() == Phase.NONE ? "" : ", " + owner.phase().name().toLowerCase(Locale.ROOT);
        return what + (of.isEmpty() ? "" : " of " + of) + phase;
    }

    private static String search(Owner owner) {
        return owner.layer().isEmpty() ? owner.category().name().toLowerCase(Locale.ROOT) : owner.layer();
    }

    private void add(String level, String title, String text, long bytes, String search) {
        findings.add(new Finding(level, title, text, bytes, search));
    }
}
