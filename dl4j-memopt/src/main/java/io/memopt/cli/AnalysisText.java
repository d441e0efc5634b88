// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.analysis.Advice;
import io.memopt.analysis.FragmentationSample;
import io.memopt.analysis.GcRow;
import io.memopt.analysis.Growth;
import io.memopt.analysis.IterationRow;
import io.memopt.analysis.LeakSuspect;
import io.memopt.analysis.Lifetime;
import io.memopt.analysis.LivenessRow;
import io.memopt.analysis.Peak;
import io.memopt.analysis.TraceAnalysis;
import io.memopt.analysis.TraceFacts;
import io.memopt.analysis.TransferRow;
import io.memopt.analysis.UsageRow;
import io.memopt.analysis.Waste;
import io.memopt.analysis.WorkspaceRow;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Writes a {@link TraceAnalysis} for people. */
final class AnalysisText {
    private static final int TOP = 10;

    private final StringBuilder out = new StringBuilder(8192);
    private final TraceAnalysis analysis;
    /** Of one network, the rest tells. */
    private final boolean one;

    private AnalysisText(TraceAnalysis analysis) {
        this.analysis = analysis;
        this.one = analysis.networks().size() <= 1;
    }

    static String render(TraceAnalysis analysis) {
        return new AnalysisText(analysis).render();
    }

    private String render() {
        facts();
        peaks();
        waste();
        liveness();
        layers();
        categories();
        workspaces();
        iterations();
        fragmentation();
        growth();
        suspects();
        transfers();
        advice();
        return out.toString();
    }

    private void facts() {
        TraceFacts facts = analysis.facts();
        line(
                "recorded   %s, %.3f s, %s",
                facts.start(), facts.durationNanos() / 1e9, Count.grouped(facts.events(), "event"));
        if (!facts.complete()) {
            line(
                    facts.lostEvents() > 0
                            ? "incomplete the recording was not closed in good order; %s known to be missing"
                            : "incomplete the recording was not closed in good order; how many events are missing at its end is unknown",
                    facts.lostEvents() == 1 ? "1 event is" : Count.grouped(facts.lostEvents(), "event") + " are");
        }
        if (!facts.exact()) {
            line("estimates  events are missing or contradict each other: figures may be off");
        }
        facts.properties().forEach((key, value) -> line("%-10s %s", key, value));
        analysis.process()
                .ifPresent(row -> line(
                        "resident   %s at most, %s at the end; of that unattributed %s",
                        ByteSize.format(row.maxResidentBytes()),
                        ByteSize.scaled(row.lastResidentBytes()),
                        ByteSize.scaled(row.lastUnattributedBytes())));
        line("");
    }

    private void peaks() {
        for (Peak peak : analysis.peaks()) {
            line(
                    "%s peak, %s: %s after %s, %.3f s from the start, made by %s",
                    Names.of(peak.measure()),
                    Names.of(peak.space()),
                    ByteSize.format(peak.bytes()),
                    Count.of(peak.iteration(), "iteration"),
                    (peak.timeNanos() - analysis.facts().firstNanos()) / 1e9,
                    who(peak.owner()));
            if (peak.space() != analysis.focus()) {
                continue;
            }
            Table shares = table("bytes", "share", "what", Names.NETWORK, "layer", "phase", "category", "workspace");
            peak.shares().stream()
                    .limit(TOP)
                    .forEach(share -> shares.row(
                            ByteSize.scaled(share.bytes()),
                            percent((double) share.bytes() / peak.bytes()),
                            share.part() == Peak.Part.ARRAYS
                                    ? Count.of(share.allocations(), "array")
                                    : Count.of(share.allocations(), "block") + ", free part",
                            Names.network(share.network()),
                            Names.layer(share.layer()),
                            Names.of(share.phase()),
                            Names.of(share.category()),
                            share.workspace()));
            out.append(shares.render("made of" + more(peak.shares().size())));
            Table holders =
                    table("bytes", "age at peak", "lives for", "kind", Names.NETWORK, "layer", "phase", "workspace");
            peak.holders().stream().limit(TOP).forEach(life -> holder(holders, peak, life));
            out.append(holders.render("largest of " + Count.of(peak.allocations(), "allocation") + " held then"));
        }
        line("");
    }

    private void holder(Table table, Peak peak, Lifetime life) {
        table.row(
                ByteSize.scaled(life.roundedBytes()),
                seconds(peak.timeNanos() - life.startNanos()),
                life.endNanos().isPresent() ? seconds(life.endNanos().getAsLong() - life.startNanos()) : "to the end",
                Names.of(life.kind()),
                Names.network(life.owner().network()),
                Names.layer(life.owner().layer()),
                Names.of(life.owner().phase()),
                life.owner().workspace());
    }

    private void waste() {
        Waste waste = analysis.waste();
        if (waste.reservedBytes() == 0) {
            return;
        }
        Table table = new Table("part", "bytes", "share", "");
        for (Waste.Part part : waste.parts()) {
            boolean known = part.bytes().isPresent();
            if (!known || part.bytes().getAsLong() != 0) {
                table.row(
                        Names.of(part.kind()),
                        known ? ByteSize.scaled(part.bytes().getAsLong()) : "",
                        known ? percent((double) part.bytes().getAsLong() / waste.reservedBytes()) : "",
                        part.remark());
            }
        }
        out.append(table.render("Where the " + ByteSize.format(waste.reservedBytes())
                + " reserved in all spaces at the reserved peak went"));
    }

    private void liveness() {
        if (analysis.liveness().isEmpty()) {
            return;
        }
        Table table = new Table("thread, workspace", "blocks", "arrays", "needed", "blocks / needed");
        for (LivenessRow row :
                analysis.liveness().subList(0, Math.min(TOP, analysis.liveness().size()))) {
            live(table, row.threadName(), row.blockBytes(), row.arrayBytes(), row.lowerBoundBytes());
            for (LivenessRow.Share share : row.workspaces()) {
                live(table, "  " + share.name(), share.blockBytes(), share.arrayBytes(), share.lowerBoundBytes());
            }
        }
        out.append(table.render("What workspace arrays need from birth to last use, at least"));
        long unseen = analysis.liveness().stream()
                .mapToLong(LivenessRow::unseenArrays)
                .sum();
        long unknown = analysis.liveness().stream()
                .mapToLong(LivenessRow::unknownArrays)
                .sum();
        if (unseen + unknown > 0) {
            line("  %s never seen in use, the use of %,d was not recorded", Count.was(unseen, "array"), unknown);
            line("");
        }
    }

    private static void live(Table table, String name, long blocks, long arrays, long needed) {
        table.row(
                name,
                ByteSize.scaled(blocks),
                ByteSize.scaled(arrays),
                ByteSize.scaled(needed),
                needed == 0 ? "" : String.format(Locale.ROOT, "%.2f", (double) blocks / needed));
    }

    private void layers() {
        Table table = table("peak", "allocated", "arrays", "space", Names.NETWORK, "layer", "phase");
        analysis.layers().stream()
                .filter(row -> !row.key().layer().isEmpty())
                .limit(TOP)
                .forEach(row -> table.row(
                        ByteSize.scaled(row.peakBytes()),
                        ByteSize.scaled(row.allocatedBytes()),
                        String.format(Locale.ROOT, "%,d", row.allocations()),
                        Names.of(row.space()),
                        Names.network(row.key().network()),
                        Names.layer(row.key().layer()),
                        Names.of(row.key().phase())));
        show(table, "Layers by most in use at once");
    }

    private void categories() {
        usage("Categories", analysis.categories().stream(), row -> Names.of(row.key()));
    }

    private <K> void usage(
            String title, Stream<UsageRow<K>> rows, java.util.function.Function<UsageRow<K>, String> key) {
        Table table = new Table("peak", "at the end", "allocated", "rounding", "space", "");
        rows.limit(2L * TOP)
                .forEach(row -> table.row(
                        ByteSize.scaled(row.peakBytes()),
                        ByteSize.scaled(row.endBytes()),
                        ByteSize.scaled(row.allocatedBytes()),
                        ByteSize.scaled(row.roundingBytes()),
                        Names.of(row.space()),
                        key.apply(row)));
        show(table, title);
    }

    private void workspaces() {
        Table table = new Table(
                "workspace", "thread", "block", "filled", "mean", "needed", "scopes", "spills", "spilled", "resizes");
        analysis.workspaces().stream()
                .limit(2L * TOP)
                .forEach((WorkspaceRow row) -> table.row(
                        row.name(),
                        Names.cut(row.thread().isEmpty() ? "thread " + row.threadId() : row.thread(), 24),
                        ByteSize.scaled(row.maxBlockBytes()),
                        ByteSize.scaled(row.maxFilledBytes()),
                        percent(row.filledShare()),
                        Long.toString(row.neededBytes()),
                        Long.toString(row.scopes()),
                        Long.toString(row.spills()),
                        ByteSize.scaled(row.spilledBytes()),
                        Long.toString(row.resizes())));
        show(table, "Workspaces" + more(analysis.workspaces().size(), 2 * TOP));
    }

    private void iterations() {
        List<IterationRow> rows = analysis.iterations();
        if (rows.isEmpty()) {
            return;
        }
        IterationRow highest = rows.stream()
                .max(Comparator.comparingLong(IterationRow::peakReservedBytes))
                .orElseThrow();
        IterationRow last = rows.get(rows.size() - 1);
        line(
                "Iterations %,d; median %.1f ms and %s allocated; highest reserved peak %s in number %d; last: reserved"
                        + " %s, in use %s, %s",
                rows.size(),
                median(rows, IterationRow::durationNanos) / 1e6,
                ByteSize.scaled(median(rows, IterationRow::allocatedBytes)),
                ByteSize.scaled(highest.peakReservedBytes()),
                highest.number(),
                ByteSize.scaled(last.endReservedBytes()),
                ByteSize.scaled(last.endInUseBytes()),
                Count.of(last.spills(), "spill"));
        line("");
        byNetwork(rows);
    }

    private void byNetwork(List<IterationRow> rows) {
        Map<String, List<IterationRow>> networks =
                rows.stream().collect(Collectors.groupingBy(IterationRow::network, TreeMap::new, Collectors.toList()));
        if (networks.size() < 2) {
            return;
        }
        Table table = new Table("iterations", "median", "allocated, median", "highest reserved peak", Names.NETWORK);
        networks.forEach((network, its) -> table.row(
                Integer.toString(its.size()),
                seconds(median(its, IterationRow::durationNanos)),
                ByteSize.scaled(median(its, IterationRow::allocatedBytes)),
                ByteSize.scaled(its.stream()
                        .mapToLong(IterationRow::peakReservedBytes)
                        .max()
                        .orElse(0)),
                Names.network(network)));
        show(table, "Iterations by network");
    }

    private static long median(List<IterationRow> rows, ToLongFunction<IterationRow> figure) {
        long[] sorted = rows.stream().mapToLong(figure).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    private void fragmentation() {
        List<FragmentationSample> samples = analysis.fragmentation();
        if (samples.stream().anyMatch(sample -> sample.blockBytes() > 0)) {
            double mean = samples.stream()
                    .filter(sample -> sample.reservedBytes() > 0)
                    .mapToDouble(FragmentationSample::idleShare)
                    .average()
                    .orElse(0);
            double external = samples.stream()
                    .mapToDouble(FragmentationSample::external)
                    .max()
                    .orElse(0);
            double internal = samples.stream()
                    .mapToDouble(FragmentationSample::internal)
                    .max()
                    .orElse(0);
            line(
                    "Fragmentation, %s: mean share of reserved bytes without an array %s, worst external"
                            + " fragmentation of workspace blocks %.2f, worst internal %.3f",
                    Count.of(samples.size(), "sample"), percent(Math.max(0, mean)), external, internal);
            line("");
        }
    }

    private void growth() {
        Table table = table(
                "per step",
                "95 % interval",
                "first",
                "last",
                Names.NETWORK,
                "layer",
                "phase",
                "category",
                "workspace",
                "made by");
        analysis.growth().stream()
                .filter(Growth::isSignificant)
                .limit(TOP)
                .forEach(row -> table.row(
                        ByteSize.scaled(Math.round(row.bytesPerStep())),
                        interval(row),
                        ByteSize.scaled(row.firstBytes()),
                        ByteSize.scaled(row.lastBytes()),
                        Names.network(row.owner().network()),
                        Names.layer(row.owner().layer()),
                        Names.of(row.owner().phase()),
                        Names.of(row.owner().category()),
                        row.owner().workspace(),
                        row.site()));
        String step = analysis.growth().isEmpty()
                ? ""
                : Names.of(analysis.growth().get(0).step());
        show(table, "Growth of what is in use, by " + step + " (significant slopes only)");
    }

    private static String interval(Growth row) {
        return Double.isInfinite(row.lowBytesPerStep()) || Double.isInfinite(row.highBytesPerStep())
                ? "too few samples"
                : ByteSize.scaled(Math.round(row.lowBytesPerStep())) + " .. "
                        + ByteSize.scaled(Math.round(row.highBytesPerStep()));
    }

    private void suspects() {
        Table table = table(
                "bytes",
                "arrays",
                "with views",
                "oldest",
                "median age",
                Names.NETWORK,
                "layer",
                "phase",
                "category",
                "made by");
        analysis.suspects().stream()
                .limit(TOP)
                .forEach((LeakSuspect row) -> table.row(
                        ByteSize.scaled(row.bytes()),
                        Long.toString(row.arrays()),
                        ByteSize.scaled(row.viewedBytes()),
                        seconds(row.oldestNanos()),
                        seconds(row.medianNanos()),
                        Names.network(row.owner().network()),
                        Names.layer(row.owner().layer()),
                        Names.of(row.owner().phase()),
                        Names.of(row.owner().category()),
                        row.site()));
        show(
                table,
                "Detached arrays outside networks, live at the end (whether Java code still reaches them is unknown)"
                        + more(analysis.suspects().size()));
    }

    private void transfers() {
        Table table = new Table("copies", "bytes", "waited", "bandwidth", "overlapped", "page-locked", "direction");
        analysis.transfers()
                .forEach((TransferRow row) -> table.row(
                        String.format(Locale.ROOT, "%,d", row.copies()),
                        ByteSize.scaled(row.bytes()),
                        seconds(row.nanos()),
                        row.bytesPerSecond().isPresent()
                                ? ByteSize.scaled(
                                                Math.round(row.bytesPerSecond().getAsDouble())) + "/s"
                                : "unknown",
                        percent(row.overlappedShare()),
                        row.pinnedBytes().isPresent()
                                ? ByteSize.scaled(row.pinnedBytes().getAsLong())
                                : "unknown",
                        Names.of(row.direction())));
        show(table, "Transfers (overlapped: while another thread computed; page-locked: the end in host memory is)");
        GcRow collections = analysis.collections();
        if (collections.collections() > 0) {
            line(
                    "Java garbage collections %d in %s, of which forced %d in %s, longest %s",
                    collections.collections(),
                    seconds(collections.nanos()),
                    collections.forced(),
                    seconds(collections.forcedNanos()),
                    seconds(collections.longestForcedNanos()));
            line("");
        }
        if (analysis.failures() > 0) {
            line("%s refused", Count.was(analysis.failures(), "allocation"));
            line("");
        }
    }

    private void advice() {
        if (analysis.advice().isEmpty()) {
            line("No advice: nothing was found that would lower the peak.");
            return;
        }
        line("Advice, best first; savings are recomputed from the trace");
        int number = 1;
        for (Advice advice : analysis.advice()) {
            line("%d. %s", number++, advice.finding());
            line("   do      %s", advice.action());
            line("   saves   %s", saving(advice));
            line("   time    %s; results %s", advice.timeCost(), Names.of(advice.exactness()));
            if (!advice.unknowns().isEmpty()) {
                line("   unknown %s", advice.unknowns());
            }
        }
    }

    private static String saving(Advice advice) {
        if (advice.savingIsUnknown()) {
            return "unknown";
        }
        return ByteSize.format(advice.savedBytes()) + " of the " + Names.of(advice.space()) + " peak ("
                + ByteSize.scaled(advice.peakBefore()) + " to " + ByteSize.scaled(advice.peakAfter()) + ")"
                + (advice.savedAtEnd() > 0 ? ", " + ByteSize.scaled(advice.savedAtEnd()) + " at the end" : "");
    }

    /** A table whose column of networks is only shown when there are several. */
    private Table table(String... head) {
        return new Table(head).hide(Names.NETWORK, one);
    }

    private void show(Table table, String title) {
        if (!table.isEmpty()) {
            out.append(table.render(title));
        }
    }

    private String who(Owner owner) {
        String layer = owner.layer().isEmpty() ? "no single layer" : "layer " + owner.layer();
        String network = one || owner.network().isEmpty() ? "" : " of " + owner.network();
        return layer + network + ", phase " + Names.of(owner.phase()) + ", " + Names.of(owner.category());
    }

    private static String more(int size) {
        return more(size, TOP);
    }

    private static String more(int size, int shown) {
        return size > shown ? " (" + shown + " of " + size + ", --json has all)" : "";
    }

    private static String percent(double share) {
        return String.format(Locale.ROOT, "%.1f %%", 100 * share);
    }

    private static String seconds(long nanos) {
        return String.format(Locale.ROOT, "%.3f s", nanos / 1e9);
    }

    private void line(String text) {
        out.append(text).append('\n');
    }

    private void line(String format, Object... values) {
        line(String.format(Locale.ROOT, format, values));
    }
}
