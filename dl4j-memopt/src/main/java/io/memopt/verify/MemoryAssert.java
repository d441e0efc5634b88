// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.use.ScopeFinding;
import io.memopt.analysis.Advice;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * Assertions about what one run took; see {@link MemoryTrial} for what counts. Each returns this object or throws an
 * {@link AssertionError} that says what took the memory, with numbers, and what can be done. Sizes are text such as {@code
 * "200 MiB"}, {@code "1.5 GB"} or {@code "4096"}, see the units B, KiB, MiB, GiB, TiB, KB, MB, GB, TB; a text that reads
 * otherwise is an {@link IllegalArgumentException}.
 *
 * <p>Immutable.
 */
public final class MemoryAssert {
    /** Scalars and shape buffers that ND4J itself makes in each iteration, about 100, are smaller. */
    private static final long SMALL_BYTES = 1024;

    private final RunRecord run;

    MemoryAssert(RunRecord run) {
        this.run = run;
    }

    /** The figures, for assertions of one's own. */
    public MemoryFigures figures() {
        return run.figures();
    }

    /**
     * The most that was reserved at once is less than {@code limit}. Includes what waited for the Java collector, as in a
     * real run.
     */
    public MemoryAssert peakBelow(String limit) {
        long bytes = Amounts.bytes(limit);
        if (run.figures().peakBytes() >= bytes) {
            throw failure(
                    "reserved peak " + ByteSize.format(run.figures().peakBytes()) + ", expected below "
                            + ByteSize.format(bytes) + ".",
                    peakText(),
                    "use a smaller batch, or raise the limit if this much is wanted.",
                    Advice.Kind.OUTPUT_IN_WORKSPACE,
                    Advice.Kind.FEWER_THREADS,
                    Advice.Kind.SHUT_DOWN_PREFETCHER,
                    Advice.Kind.PREFETCH_LESS,
                    Advice.Kind.CLOSE_DETACHED,
                    Advice.Kind.WORKSPACE_MODE);
        }
        return this;
    }

    /**
     * After a full garbage collection, each iteration after the warm-up left at most {@code bytesPerIteration} more than it
     * found, on average. Finds what is kept: a list of arrays, a cache, a workspace that goes on growing. For arrays that
     * only wait for the collector see {@link #leavesNoGarbageOver}.
     */
    public MemoryAssert hasNoGrowthOver(String bytesPerIteration) {
        long allowed = Amounts.bytes(bytesPerIteration);
        long grown = run.figures().grownBytes();
        int measured = run.figures().measured();
        if (grown > allowed * measured) {
            throw failure(
                    "holds " + ByteSize.format(grown / measured) + " more with each iteration, allowed are "
                            + ByteSize.format(allowed) + ": " + ByteSize.format(grown) + " in "
                            + Count.of(measured, "iteration")
                            + ", all garbage collected.",
                    "What grew:\n"
                            + Texts.lines(run.growth(), row -> ByteSize.scaled(row.bytes()) + " in " + row.holder()),
                    "detached arrays: find what still refers to them, and close() or drop them; a view keeps its whole array."
                            + " Blocks: feed the largest batch or longest sequence first, or warm up longer.",
                    Advice.Kind.SHUT_DOWN_PREFETCHER);
        }
        return this;
    }

    /**
     * An iteration after the warm-up leaves at most {@code bytesPerIteration} to the Java collector, on average: detached
     * arrays that nobody closes and nobody needs. They pile up until the collector happens to run, which does not see their
     * size.
     */
    public MemoryAssert leavesNoGarbageOver(String bytesPerIteration) {
        long allowed = Amounts.bytes(bytesPerIteration);
        if (run.figures().garbageBytes() > allowed) {
            throw failure(
                    "leaves " + ByteSize.format(run.figures().garbageBytes())
                            + " to the Java garbage collector in each iteration, allowed are "
                            + ByteSize.format(allowed) + ".",
                    "What is left, in " + Count.of(run.figures().measured(), "iteration") + ":\n"
                            + groups(run.garbage()),
                    "close() these arrays, or let them be made in a workspace.",
                    Advice.Kind.OUTPUT_IN_WORKSPACE,
                    Advice.Kind.CLOSE_DETACHED,
                    Advice.Kind.WORKSPACE_MODE);
        }
        return this;
    }

    /** As {@link #makesNoDriverAllocationsAfterWarmup(String)} for allocations of at least 1 KiB. */
    public MemoryAssert makesNoDriverAllocationsAfterWarmup() {
        return makesNoDriverAllocationsAfterWarmup(SMALL_BYTES + " B");
    }

    /**
     * Iterations after the warm-up take nothing from the operating system or driver: no workspace block, no spill, no
     * detached array of at least {@code atLeast}. Smaller ones are not looked at: ND4J makes about a hundred scalars and
     * shape buffers in each iteration, whatever one does. {@code "0 B"} counts those, too.
     */
    public MemoryAssert makesNoDriverAllocationsAfterWarmup(String atLeast) {
        long smallest = Amounts.bytes(atLeast);
        List<Span> large =
                run.taken().stream().filter(span -> span.bytes >= smallest).toList();
        if (!large.isEmpty()) {
            throw failure(
                    Count.of(large.size(), "driver allocation") + " of at least " + ByteSize.format(smallest) + " in "
                            + Count.of(run.figures().measured(), "iteration") + " after the warm-up of "
                            + run.figures().warmup() + ", expected none ("
                            + (run.taken().size() - large.size())
                            + " smaller ones not counted).",
                    "What was allocated:\n" + groups(large),
                    "a block or spill: give the workspace its size from the start; a detached array: make it in a"
                            + " workspace, or once before the loop.",
                    Advice.Kind.WORKSPACE_INITIAL_SIZE,
                    Advice.Kind.OUTPUT_IN_WORKSPACE,
                    Advice.Kind.CLOSE_DETACHED,
                    Advice.Kind.WORKSPACE_MODE);
        }
        return this;
    }

    /**
     * No array is used after its workspace moved on, warm-up included: such reads give whatever lies there now, without an
     * error. Reads through a raw pointer are not seen.
     *
     * @throws IllegalStateException if {@link MemoryTrial#withScopeCheck} was not called before the run
     */
    public MemoryAssert readsNoStaleArrays() {
        List<ScopeFinding> findings = run.staleReads()
                .orElseThrow(() -> new IllegalStateException("Nobody looked for stale arrays during this run: call"
                        + " withScopeCheck() before whileFitting or whileRunning."));
        if (!findings.isEmpty()) {
            long reads = findings.stream().mapToLong(ScopeFinding::count).sum();
            throw new AssertionError(
                    run.name() + ": " + reads + " uses of arrays after their scope, in " + findings.size()
                            + " places, expected none.\n"
                            + Texts.lines(findings, finding -> finding.count() + " x " + finding.message()));
        }
        return this;
    }

    /**
     * No figure is worse than in {@code baseline} by more than {@code share}, e.g. {@code "5 %"}: prompt peak, what is held,
     * garbage and driver bytes for each iteration (see {@link MemoryFigures}). Differences below 4 KiB never count. With the
     * system property {@code memopt.updateBaselines=true} the file is written instead, and nothing is compared.
     *
     * @throws AssertionError also if the file does not exist, or was written by a run of another kind
     * @throws java.io.UncheckedIOException if the file cannot be read or written
     */
    public MemoryAssert regressesNoMoreThan(String share, Path baseline) {
        Objects.requireNonNull(baseline, "baseline");
        double allowed = Amounts.share(share);
        Baseline now = Baseline.of(run);
        if (Baseline.isUpdating()) {
            now.write(baseline);
            return this;
        }
        List<String> worse = now.worseThan(Baseline.read(baseline), allowed, baseline);
        if (!worse.isEmpty()) {
            throw failure(
                    "worse than " + baseline + " allows (" + share + "):",
                    worse.stream().map(line -> "  " + line).collect(Collectors.joining("\n")) + "\n" + peakText(),
                    "find what changed since the baseline was written, or write it anew: -D" + Baseline.UPDATE_PROPERTY
                            + "=true.");
        }
        return this;
    }

    private String peakText() {
        String reserved = run.peak()
                .map(peak -> "Reached in iteration " + run.peakIteration() + ", " + Texts.owner(peak.owner())
                        + ". Held then:\n" + Texts.composition(peak, run.flatBytes()))
                .orElse("Nothing was reserved during the run.");
        String used = run.used()
                .map(peak -> "\nMost of it in use at once, in iteration " + run.usedIteration() + ", "
                        + Texts.owner(peak.owner()) + ":\n" + Texts.composition(peak, run.flatBytes()))
                .orElse("");
        return reserved + used;
    }

    private static String groups(List<Span> spans) {
        record Group(String what, long count, long bytes) {}
        List<Group> groups = spans.stream().collect(Collectors.groupingBy(MemoryAssert::what)).entrySet().stream()
                .map(group -> new Group(
                        group.getKey(),
                        group.getValue().size(),
                        group.getValue().stream().mapToLong(span -> span.bytes).sum()))
                .sorted((a, b) -> a.bytes() != b.bytes()
                        ? Long.compare(b.bytes(), a.bytes())
                        : a.what().compareTo(b.what()))
                .toList();
        return Texts.lines(
                groups, group -> ByteSize.scaled(group.bytes()) + " in " + group.count() + " x " + group.what());
    }

    private static String what(Span span) {
        String workspace = span.owner.workspace();
        return span.kind.name().toLowerCase(Locale.ROOT).replace('_', ' ') + ", " + Texts.owner(span.owner)
                + (workspace.isEmpty() ? "" : ", in " + workspace);
    }

    /** The analysis may know better than {@code otherwise}; of its advice only some kinds answer an assertion. */
    private AssertionError failure(String what, String details, String otherwise, Advice.Kind... kinds) {
        String advice = run.advice().stream()
                .filter(row -> List.of(kinds).contains(row.kind()))
                .findFirst()
                .map(MemoryAssert::text)
                .orElse("");
        return new AssertionError(run.name() + ": " + what + "\n" + details + "\nWhat to do: " + advice + otherwise);
    }

    private static String text(Advice advice) {
        long saved = Math.max(advice.savedBytes(), advice.savedAtEnd());
        return advice.finding() + (saved > 0 ? " This would save " + ByteSize.scaled(saved) + ": " : " ")
                + advice.action() + "\nOr ";
    }
}
