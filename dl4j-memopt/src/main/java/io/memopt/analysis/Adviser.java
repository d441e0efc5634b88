// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.recording.ByteSize;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Says what to do. The first pass tells which {@link Scenario}s are worth a try; the second pass plays them; afterwards
 * those that save anything become {@link Advice}. Threading: confined.
 */
final class Adviser {
    /** Smaller savings are not worth a line. */
    private static final long WORTH_BYTES = 4096;

    private static final long WORTH_NANOS = 1_000_000;
    private static final long ABANDONED_NANOS = 60_000_000_000L;
    /** Batches in a prefetcher's ring beyond its queue, and ND4J's margin; as in {@code report.Prefetchers}. */
    private static final int EXTRA_BATCHES = 3;

    private static final double RING_MARGIN = 1.3;
    private static final int SHORT_QUEUE = 2;

    private final FirstPass first;
    private final LiveSet live;
    private final MemorySpace space;
    private final List<Scenario> scenarios = new ArrayList<>();
    private final Map<Integer, WorkspaceBook.Entry> sized = new HashMap<>();
    private final Map<Integer, Long> abandoned = new HashMap<>();
    private final Map<Integer, Long> shortened = new HashMap<>();
    private final Set<Long> goneThreads = new HashSet<>();
    private final List<Long> ownerThreads = new ArrayList<>();
    private long ownerThreadBytes;
    /** Whether detached arrays of an owner, by number, are results of forward passes outside training. */
    private final IntPredicate isResult;

    private final Scenario.@Nullable InitialSize initialSize;
    private final Scenario.@Nullable ResultsInWorkspace results;
    private final Scenario.@Nullable Without fewerThreads;
    private final Scenario.@Nullable DestroyedAfterLastUse shutDown;
    private final Scenario.@Nullable OtherBlockSize shortQueue;
    private final Scenario.@Nullable ClosedEachIteration closed;
    private final ReuseAdvice reuse;

    Adviser(FirstPass first, LiveSet live, Owners owners) {
        this.first = first;
        this.live = live;
        this.space = first.focus();
        sort();
        initialSize = sized.isEmpty() ? null : keep(new Scenario.InitialSize(live, space, sized));
        Residues residues = first.residues();
        isResult = number -> {
            Owner owner = owners.get(number);
            return Detached.isResult(AllocationKind.DETACHED, owner) && !residues.contains(owner);
        };
        boolean passes = first.threads.all().stream().anyMatch(thread -> thread.maxPassBytes(isResult) > 0);
        results = passes ? keep(new Scenario.ResultsInWorkspace(live, space, isResult, first.threads)) : null;
        fewerThreads =
                goneThreads.isEmpty() ? null : keep(new Scenario.Without(live, space, slot -> isOfGoneThread(slot)));
        shutDown = abandoned.isEmpty() ? null : keep(new Scenario.DestroyedAfterLastUse(live, space, abandoned));
        shortQueue = shortened.isEmpty() ? null : keep(new Scenario.OtherBlockSize(live, space, shortened));
        closed = first.iterations == 0
                ? null
                : keep(new Scenario.ClosedEachIteration(
                        live, space, slot -> isLeftBehind(live.kind(slot), owners.get(live.owner(slot)), residues)));
        reuse = new ReuseAdvice(first, live);
        reuse.scenario().ifPresent(scenarios::add);
    }

    /** What nothing outside a pass has a use for. */
    private static boolean isLeftBehind(AllocationKind kind, Owner owner, Residues residues) {
        return Detached.isTrainingScratch(kind, owner) || (Detached.isResult(kind, owner) && residues.contains(owner));
    }

    List<Scenario> scenarios() {
        return scenarios;
    }

    /** What the scenarios came to; best first. */
    List<Advice> advice(long peak, long end, GcRow collections) {
        List<Advice> advice = new ArrayList<>();
        results(advice, peak, end);
        closed(advice, peak, end);
        initialSize(advice, peak, end);
        fewerThreads(advice, peak, end);
        prefetchers(advice, peak, end);
        reuse.advice(peak, end).ifPresent(advice::add);
        collections(advice, peak, collections);
        advice.sort(Comparator.comparingLong(Advice::savedBytes)
                .thenComparingLong(Advice::savedAtEnd)
                .thenComparingLong(a -> a.avoidedNanos().orElse(0))
                .reversed());
        return advice;
    }

    private void results(List<Advice> advice, long peak, long end) {
        if (results == null || !saves(results, peak, end)) {
            return;
        }
        long most = first.threads.all().stream()
                .mapToLong(thread -> thread.maxPassBytes(isResult))
                .max()
                .orElse(0);
        add(
                advice,
                Advice.Kind.OUTPUT_IN_WORKSPACE,
                "Results of output() are detached arrays, up to " + ByteSize.format(most) + " per call over "
                        + Count.of(first.passes, "call") + "; only close() or the Java garbage collector frees them.",
                "try (MemoryWorkspace ws = Nd4j.getWorkspaceManager().getAndActivateWorkspace("
                        + "WorkspaceConfiguration.builder().initialSize(" + most
                        + "L).policyLearning(LearningPolicy.FIRST_LOOP).policyAllocation(AllocationPolicy.STRICT).build(),"
                        + " \"RESULTS\")) { INDArray y = net.output(x, false, ws); /* read y here */ }",
                results,
                peak,
                end,
                "none measured; saves an allocation per call",
                "Whether results are kept on purpose, and whether views (getRow) keep whole parents: dup() the part that"
                        + " you keep.");
    }

    private void closed(List<Advice> advice, long peak, long end) {
        if (closed == null || !saves(closed, peak, end)) {
            return;
        }
        if (!first.usesNetworkWorkspaces()) {
            workspaceMode(advice, closed, peak, end);
            return;
        }
        add(
                advice,
                Advice.Kind.CLOSE_DETACHED,
                "Layers detach arrays in their passes (e.g. BatchNormalization in 1.0.0-M2.1) that wait for the Java"
                        + " garbage collector.",
                "MemOpt.attach(net, MemOptConfig.builder().reuse(Reuse.RELEASED).build()) frees those of"
                        + " BatchNormalization. For others: net.addListeners(new BaseTrainingListener() { @Override public"
                        + " void iterationDone(Model model, int iteration, int epoch) {"
                        + " Nd4j.getMemoryManager().invokeGc(); } });",
                closed,
                peak,
                end,
                "none for BatchNormalization; for others a full Java garbage collection for each iteration; every n-th iteration lets n times one iteration's"
                        + " arrays wait, and a smaller -Xmx makes collections come sooner without any code",
                "Computed as if each such array ended with the iteration that made it.");
    }

    private void workspaceMode(List<Advice> advice, Scenario scenario, long peak, long end) {
        add(
                advice,
                Advice.Kind.WORKSPACE_MODE,
                "Training uses no workspaces (WorkspaceMode.NONE): its arrays wait for the Java garbage collector, which does"
                        + " not see their size.",
                "net.getLayerWiseConfigurations().setTrainingWorkspaceMode(WorkspaceMode.ENABLED), for a ComputationGraph"
                        + " net.getConfiguration().setTrainingWorkspaceMode(WorkspaceMode.ENABLED)",
                scenario,
                peak,
                end,
                "less: memory is not allocated anew for each array; how much is unknown",
                "Computed as if each array ended with its iteration. Workspaces end most of them earlier and save more.");
    }

    private void initialSize(List<Advice> advice, long peak, long end) {
        if (initialSize == null) {
            return;
        }
        Map<String, long[]> byName = new TreeMap<>();
        for (WorkspaceBook.Entry entry : sized.values()) {
            long[] sums = byName.computeIfAbsent(entry.info.name(), name -> new long[4]);
            sums[0] = Math.max(sums[0], entry.needed());
            sums[1] += entry.spills;
            sums[2] += entry.spilledBytes;
            sums[3] += entry.resizes();
        }
        String finding = byName.entrySet().stream()
                .map(row -> row.getKey() + " spilled " + Count.of(row.getValue()[1], "array") + " ("
                        + ByteSize.format(row.getValue()[2]) + ") and was resized " + Count.times(row.getValue()[3]))
                .collect(Collectors.joining("; ", "", "."));
        String action = byName.entrySet().stream()
                .map(row ->
                        "Nd4j.getWorkspaceManager().createNewWorkspace(WorkspaceConfiguration.builder().initialSize("
                                + row.getValue()[0]
                                + "L).policyLearning(LearningPolicy.NONE).policyAllocation(AllocationPolicy.STRICT)"
                                + ".policySpill(SpillPolicy.REALLOCATE).policyReset(ResetPolicy.BLOCK_LEFT).build(), \""
                                + row.getKey() + "\");")
                .collect(Collectors.joining(" "));
        add(
                advice,
                Advice.Kind.WORKSPACE_INITIAL_SIZE,
                finding,
                "On the thread that calls fit() or output(), before the first call: " + action
                        + " Or, without code, feed the largest batch or longest sequence first.",
                initialSize,
                peak,
                end,
                "less: no spills and resizes; how much is unknown",
                "Sizes are right for inputs no larger than those of this trace.");
    }

    private void fewerThreads(List<Advice> advice, long peak, long end) {
        if (fewerThreads == null || !saves(fewerThreads, peak, end)) {
            return;
        }
        int all = ownerThreads.size();
        int kept = all - goneThreads.size();
        add(
                advice,
                Advice.Kind.FEWER_THREADS,
                all + " threads have workspaces of their own, about " + ByteSize.scaled(ownerThreadBytes / all)
                        + " each, and at most " + kept
                        + " of them had arrays in them at the same time. Workspaces belong"
                        + " to threads: " + all + " x " + ByteSize.scaled(ownerThreadBytes / all) + " = "
                        + ByteSize.scaled(ownerThreadBytes) + ".",
                "Executors.newFixedThreadPool(" + kept + ") for the threads that call the network, or"
                        + " Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread() when a thread is done",
                fewerThreads,
                peak,
                end,
                "none if the trace is typical: no more than " + kept + " worked at once",
                "Calls that were served while nothing was in a workspace do not show in the number of threads at work.");
    }

    private void prefetchers(List<Advice> advice, long peak, long end) {
        if (shutDown != null && saves(shutDown, peak, end)) {
            add(
                    advice,
                    Advice.Kind.SHUT_DOWN_PREFETCHER,
                    Count.was(abandoned.size(), "prefetching iterator") + " left: threads and ring buffers stay.",
                    "iterator.shutdown() on each AsyncDataSetIterator that is dropped",
                    shutDown,
                    peak,
                    end,
                    "none",
                    "Taken as left: a newer iterator was read, or 60 s passed, since the last batch. Computed as if shut"
                            + " down after the last batch.");
        }
        if (shortQueue != null && saves(shortQueue, peak, end)) {
            add(
                    advice,
                    Advice.Kind.PREFETCH_LESS,
                    "Prefetch buffers hold (queue + " + EXTRA_BATCHES + ") x batch x " + RING_MARGIN + ".",
                    "new AsyncDataSetIterator(iterator, " + SHORT_QUEUE + ")",
                    shortQueue,
                    peak,
                    end,
                    "unknown: whether training would wait for data is not in the trace",
                    "");
        }
    }

    private void collections(List<Advice> advice, long peak, GcRow collections) {
        if (collections.forced() > 0 && collections.forcedNanos() >= WORTH_NANOS) {
            advice.add(new Advice(
                    Advice.Kind.AVOID_FORCED_GC,
                    Count.of(collections.forced(), "forced Java garbage collection") + " took "
                            + String.format(Locale.ROOT, "%.1f ms", collections.forcedNanos() / 1e6) + ".",
                    "do not call System.gc(), close() of a network or destroyAllWorkspacesForCurrentThread() in a loop;"
                            + " if -Dorg.bytedeco.javacpp.maxphysicalbytes triggers them, leave less to the collector"
                            + " (MemOptConfig.builder().reuse(Reuse.RELEASED), close() results) or raise it",
                    space,
                    peak,
                    peak,
                    0,
                    "less",
                    Exactness.BITWISE,
                    "Who forced them is not in the trace.",
                    OptionalLong.of(collections.forcedNanos())));
        }
    }

    private void add(
            List<Advice> advice,
            Advice.Kind kind,
            String finding,
            String action,
            Scenario scenario,
            long peak,
            long end,
            String timeCost,
            String unknowns) {
        advice.add(new Advice(
                kind,
                finding,
                action,
                space,
                peak,
                scenario.peakBytes(),
                end - scenario.endBytes(),
                timeCost,
                Exactness.BITWISE,
                unknowns,
                OptionalLong.empty()));
    }

    static boolean saves(Scenario scenario, long peak, long end) {
        return peak - scenario.peakBytes() >= WORTH_BYTES || end - scenario.endBytes() >= WORTH_BYTES;
    }

    private <S extends Scenario> S keep(S scenario) {
        scenarios.add(scenario);
        return scenario;
    }

    private boolean isOfGoneThread(int slot) {
        // What spilled on a thread that goes would lie in the block of one that remains.
        return live.kind(slot) != AllocationKind.DETACHED && goneThreads.contains(threadOf(live.workspace(slot)));
    }

    private long threadOf(int workspace) {
        return first.workspaces.find(workspace).map(e -> e.info.threadId()).orElse(-1L);
    }

    /** Sorts the workspaces of the first pass into what may be wrong with them. */
    private void sort() {
        Map<String, Long> newest = new HashMap<>();
        Map<Long, Long> bytesByThread = new HashMap<>();
        for (WorkspaceBook.Entry entry : first.workspaces.all()) {
            if (entry.info.circular()) {
                newest.merge(entry.info.name(), (long) entry.info.id(), Math::max);
            } else if (entry.maxPrimaryBlock() > 0) {
                bytesByThread.merge(entry.info.threadId(), entry.maxPrimaryBlock(), Long::sum);
            }
        }
        for (WorkspaceBook.Entry entry : first.workspaces.all()) {
            boolean live = entry.blockNow() > 0;
            if (entry.info.circular()) {
                circular(entry, live, newest.getOrDefault(entry.info.name(), 0L) > entry.info.id());
            } else if (entry.lateSpills + entry.resizes() > 0 && entry.needed() > 0 && entry.primary() == space) {
                sized.put(entry.info.id(), entry);
            }
        }
        ownerThreads.addAll(bytesByThread.keySet());
        ownerThreadBytes =
                bytesByThread.values().stream().mapToLong(Long::longValue).sum();
        ownerThreads.sort(Comparator.comparing((Long id) -> -bytesByThread.getOrDefault(id, 0L))
                .thenComparing(Comparator.naturalOrder()));
        int needed = Math.max(1, first.maxActiveThreads);
        if (ownerThreads.size() > needed) {
            goneThreads.addAll(ownerThreads.subList(needed, ownerThreads.size()));
        }
    }

    private void circular(WorkspaceBook.Entry entry, boolean live, boolean superseded) {
        boolean idle = first.lastNanos - entry.lastEntered >= ABANDONED_NANOS;
        if (live && entry.lastEnterEvent >= 0 && (superseded || idle)) {
            abandoned.put(entry.info.id(), entry.lastEnterEvent);
        } else if (entry.needed() > 0) {
            long size = Math.round((SHORT_QUEUE + EXTRA_BATCHES) * entry.needed() * RING_MARGIN);
            if (size < entry.maxPrimaryBlock()) {
                shortened.put(entry.info.id(), size);
            }
        }
    }
}
