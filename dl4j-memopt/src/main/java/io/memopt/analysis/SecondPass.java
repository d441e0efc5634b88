// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceVisitor;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Collects everything that needs to know where the peaks are. */
final class SecondPass implements TraceVisitor, LiveSet.Listener {
    private static final int PROGRESS = 0xffff;
    private static final int MAX_ROWS = 1000;
    /** Live allocations looked at by all samples of holes together. */
    private static final long FRAGMENTATION_BUDGET = 4_000_000;

    private final FirstPass first;
    private final AnalysisOptions options;
    private final MemorySpace focus;
    private final LongConsumer progress;
    final LiveSet live;
    private final Owners owners;
    final Groups<Owner> byOwner;
    final Groups<LayerKey> byLayer;
    final Groups<Category> byCategory;
    final Groups<String> byWorkspace;
    private final ThreadBook threads;
    private final List<ThreadBook.Entry> iterating = new ArrayList<>();
    private final PeakBook peaks;
    private final WasteBook waste;
    private final @Nullable LivenessBook liveness;
    private final SiteBook sites;
    final ProcessBook process;
    final Adviser adviser;
    private final Scenario[] scenarios;
    private final NavigableMap<Long, List<PeakAt>> peakEvents = new TreeMap<>();
    private long nextPeakEvent;
    private long nextSample;
    private final List<Window> windows = new ArrayList<>();

    private final List<IterationRow> iterations = new ArrayList<>();
    private final List<WorkspaceChange> changes = new ArrayList<>();
    private final Map<Integer, Set<MemorySpace>> withBlock = new HashMap<>();
    private final List<FragmentationSample> fragmentation = new ArrayList<>();
    private final long fragmentationStride;
    private final Map<Integer, List<AllocationStep>> profiles = new HashMap<>();
    private final List<long[]> growthSamples = new ArrayList<>();
    private final Growth.Step step;
    private final long stepStride;
    private long steps;
    private final TransferBook transfers;
    private long collections;
    private long collectionNanos;
    private long forced;
    private long forcedNanos;
    private long longestForced;
    private long failures;
    private long time;

    private record Window(int index, FirstPass.Window of) {}

    private record PeakAt(Measure measure, MemorySpace space, FirstPass.Top top) {}

    SecondPass(TraceReader reader, FirstPass first, AnalysisOptions options) {
        this.first = first;
        this.options = options;
        this.focus = first.focus();
        this.progress = options.progress();
        live = new LiveSet(reader.header().startNanos(), this);
        transfers = new TransferBook(first.firstNanos, first.lastNanos);
        owners = first.owners;
        byOwner = new Groups<>(owners, owner -> owner);
        byLayer = new Groups<>(owners, owner -> new LayerKey(owner.network(), owner.layer(), owner.phase()));
        byCategory = new Groups<>(owners, Owner::category);
        byWorkspace = new Groups<>(owners, Owner::workspace);
        threads = new ThreadBook(reader::threadName);
        peaks = new PeakBook(live, owners, first.workspaces, options.maxHolders());
        process = new ProcessBook(live);
        sites = new SiteBook(live, reader::site);
        waste = new WasteBook(live, owners, first, threads, process);
        liveness = first.lastUses == 0 ? null : new LivenessBook(live, first.workspaces, threads);
        for (ThreadBook.Entry entry : first.threads.all()) {
            if (entry.iterations > 0) {
                iterating.add(threads.entry(entry.id, entry.startNanos));
            }
        }
        adviser = new Adviser(first, live, owners);
        scenarios = adviser.scenarios().toArray(Scenario[]::new);
        for (MemorySpace space : PeakBook.startingWith(focus)) {
            for (Measure measure : Measure.values()) {
                FirstPass.Top top = first.tops[measure.ordinal()][space.ordinal()];
                if (top.event >= 0) {
                    peakEvents
                            .computeIfAbsent(top.event, event -> new ArrayList<>())
                            .add(new PeakAt(measure, space, top));
                }
            }
        }
        long samples = Math.min(options.fragmentationSamples(), FRAGMENTATION_BUDGET / Math.max(1, first.maxLive) + 1);
        fragmentationStride = samples == 0 ? Long.MAX_VALUE : Math.max(1, first.events / samples);
        nextSample = samples == 0 ? -1 : fragmentationStride / 2;
        nextPeakEvent = following(-1);
        for (int index : options.profiles()) {
            FirstPass.Window window = index < 0 ? first.lastWindow : first.windows.get(index);
            if (window != null) {
                windows.add(new Window(index < 0 ? (int) first.iterations - 1 : index, window));
            }
        }
        step = first.iterations > 0 ? Growth.Step.ITERATION : Growth.Step.PASS;
        long all = first.iterations > 0 ? first.iterations : first.passes;
        stepStride = Math.max(1, (all + options.maxGrowthSamples() - 1) / options.maxGrowthSamples());
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        time = timeNanos;
        EventKind kind = EventCode.kind(code);
        if (kind == EventKind.SCOPE_ENTER
                && first.workspaces
                        .find(workspace)
                        .filter(entry -> entry.info.circular())
                        .isPresent()) {
            live.markCircular(workspace);
        }
        live.accept(code, timeNanos, thread, owner, workspace, address, bytes, extra);
        long event = live.event();
        switch (kind) {
            case SCOPE_ENTER -> {
                for (Scenario scenario : scenarios) {
                    scenario.entered(workspace);
                }
            }
            case CONTEXT -> {
                transfers.context(thread, owners.get(owner).phase());
                if (threads.entry(thread, timeNanos).enters(owners.get(owner).phase()) && step == Growth.Step.PASS) {
                    stepEnded();
                }
            }
            case ITERATION -> iterationEnded(thread, owner, bytes, extra);
            case TRANSFER -> transferred(code, thread, bytes, extra);
            case GARBAGE_COLLECTION -> collected(bytes, extra != 0);
            case ALLOCATION_FAILURE -> failures++;
            case PROCESS -> process.sampled(timeNanos, bytes, extra);
            case ALLOCATE, FREE, SCOPE_RELEASE, RECLASSIFY, LAST_USE, ORIGIN -> {}
        }
        if (event == nextPeakEvent) {
            take(peakEvents.getOrDefault(event, List.of()), thread);
            nextPeakEvent = following(event);
        }
        if (event == nextSample) {
            fragmentation.add(Fragmentation.sample(live, focus, timeNanos));
            nextSample += fragmentationStride;
        }
        if ((event & PROGRESS) == 0) {
            progress.accept(first.events + event);
        }
    }

    @Override
    public void gap(long missing) {
        live.gap(missing);
    }

    @Override
    public void began(int slot) {
        AllocationKind kind = live.kind(slot);
        MemorySpace space = live.space(slot);
        long rounded = live.roundedBytes(slot);
        ThreadBook.Entry thread = threads.entry(live.thread(slot), time);
        if (kind != AllocationKind.WORKSPACE_BLOCK) {
            int owner = live.owner(slot);
            long requested = live.requestedBytes(slot);
            byOwner.add(owner, space, requested, rounded);
            byLayer.add(owner, space, requested, rounded);
            byCategory.add(owner, space, requested, rounded);
            byWorkspace.add(owner, space, requested, rounded);
            thread.allocations++;
            thread.allocatedBytes += rounded;
        }
        if (space == focus) {
            long inUse = live.inUseBytes(space);
            long reserved = live.reservedBytes(space);
            for (int i = 0; i < iterating.size(); i++) {
                ThreadBook.Entry each = iterating.get(i);
                each.peakInUse = Math.max(each.peakInUse, inUse);
                each.peakReserved = Math.max(each.peakReserved, reserved);
            }
        }
        if (live.workspace(slot) != WorkspaceTable.NONE) {
            inWorkspace(slot, kind, thread);
        }
        sites.began(slot);
        if (liveness != null) {
            liveness.began(slot);
        }
        for (Scenario scenario : scenarios) {
            scenario.began(slot);
        }
        if (!windows.isEmpty()) {
            profile(slot);
        }
    }

    @Override
    public void ended(int slot, long timeNanos, long thread) {
        if (live.kind(slot) != AllocationKind.WORKSPACE_BLOCK) {
            int owner = live.owner(slot);
            MemorySpace space = live.space(slot);
            long rounded = live.roundedBytes(slot);
            byOwner.remove(owner, space, rounded);
            byLayer.remove(owner, space, rounded);
            byCategory.remove(owner, space, rounded);
            byWorkspace.remove(owner, space, rounded);
        }
        for (Scenario scenario : scenarios) {
            scenario.ended(slot);
        }
        peaks.ended(slot, timeNanos);
        waste.ended(slot, thread);
        if (liveness != null) {
            liveness.ended(slot);
        }
    }

    @Override
    public void origin(int slot, long views, int site) {
        sites.origin(slot, views, site);
    }

    @Override
    public void lastUsed(int slot, long lastUseNanos, long span) {
        waste.lastUsed(slot, lastUseNanos, span);
        if (liveness != null) {
            liveness.lastUsed(slot, span);
        }
    }

    @Override
    public void moved(int slot, int before) {
        if (live.kind(slot) != AllocationKind.WORKSPACE_BLOCK) {
            int owner = live.owner(slot);
            MemorySpace space = live.space(slot);
            long requested = live.requestedBytes(slot);
            long rounded = live.roundedBytes(slot);
            byOwner.move(before, owner, space, requested, rounded);
            byLayer.move(before, owner, space, requested, rounded);
            byCategory.move(before, owner, space, requested, rounded);
            byWorkspace.move(before, owner, space, requested, rounded);
        }
        for (Scenario scenario : scenarios) {
            scenario.moved(slot);
        }
    }

    // ---- answers

    List<Peak> peaks() {
        List<MemorySpace> order = PeakBook.startingWith(focus);
        return peaks.peaks().stream()
                .sorted(Comparator.comparingInt((Peak peak) -> order.indexOf(peak.space()))
                        .thenComparing(Peak::measure))
                .toList();
    }

    /** Empty when the trace has no last uses. */
    List<LivenessRow> liveness() {
        return liveness == null ? List.of() : liveness.rows();
    }

    Waste waste() {
        return waste.waste();
    }

    List<IterationRow> iterations() {
        return iterations;
    }

    List<WorkspaceChange> changes() {
        return changes;
    }

    List<FragmentationSample> fragmentation() {
        return fragmentation;
    }

    List<IterationProfile> profiles() {
        List<IterationProfile> all = new ArrayList<>();
        profiles.forEach((index, steps) -> all.add(new IterationProfile(
                index,
                steps.subList(0, Math.min(steps.size(), options.maxProfileSteps())),
                steps.size() > options.maxProfileSteps())));
        all.sort(Comparator.comparingInt(IterationProfile::index));
        return all;
    }

    List<TransferRow> transfers() {
        return transfers.rows();
    }

    List<TransferBin> transferBins() {
        return transfers.bins();
    }

    GcRow collections() {
        return new GcRow(collections, collectionNanos, forced, forcedNanos, longestForced);
    }

    long failures() {
        return failures;
    }

    /** Owners whose bytes changed between samples, steepest first. */
    List<Growth> growth() {
        List<Growth> rows = new ArrayList<>();
        int samples = growthSamples.size();
        Map<Owner, String> places = places();
        for (int group = 0; samples >= 2 && group < byOwner.size(); group++) {
            long[] values = new long[samples];
            boolean changes = false;
            for (int i = 0; i < samples; i++) {
                long[] sample = growthSamples.get(i);
                values[i] = group < sample.length ? sample[group] : 0;
                changes |= values[i] != values[0];
            }
            if (changes) {
                TheilSen line = TheilSen.of(values, stepStride);
                rows.add(new Growth(
                        byOwner.key(group),
                        byOwner.space(group),
                        step,
                        samples,
                        values[0],
                        values[samples - 1],
                        line.slope,
                        line.low,
                        line.high,
                        places.getOrDefault(byOwner.key(group), "")));
            }
        }
        rows.sort(Comparator.comparingDouble(Growth::bytesPerStep).reversed());
        return rows.subList(0, Math.min(MAX_ROWS, rows.size()));
    }

    private Map<Owner, String> places() {
        Map<Owner, String> places = new HashMap<>();
        sites.largest().forEach((owner, site) -> places.put(owners.get(owner), site));
        return places;
    }

    List<LeakSuspect> suspects(List<Growth> growth) {
        Map<List<Object>, List<Long>> ages = new HashMap<>();
        Map<List<Object>, Long> bytes = new HashMap<>();
        Map<List<Object>, Long> viewed = new HashMap<>();
        Map<Owner, String> places = places();
        for (int slot = 0; slot < live.slotLimit(); slot++) {
            if (live.isLive(slot) && Detached.isLoose(live.kind(slot), owners.get(live.owner(slot)))) {
                List<Object> key = List.of(owners.get(live.owner(slot)), live.space(slot));
                ages.computeIfAbsent(key, k -> new ArrayList<>()).add(first.lastNanos - live.startNanos(slot));
                bytes.merge(key, live.roundedBytes(slot), Long::sum);
                viewed.merge(key, sites.views(slot) > 0 ? live.roundedBytes(slot) : 0, Long::sum);
            }
        }
        List<LeakSuspect> rows = new ArrayList<>();
        ages.forEach((key, list) -> {
            list.sort(Comparator.naturalOrder());
            Owner owner = (Owner) key.get(0);
            MemorySpace space = (MemorySpace) key.get(1);
            Optional<Growth> slope = growth.stream()
                    .filter(row -> row.owner().equals(owner) && row.space() == space)
                    .findFirst();
            rows.add(new LeakSuspect(
                    owner,
                    space,
                    list.size(),
                    bytes.getOrDefault(key, 0L),
                    list.get(list.size() - 1),
                    list.get(list.size() / 2),
                    places.getOrDefault(owner, ""),
                    viewed.getOrDefault(key, 0L),
                    slope));
        });
        rows.sort(Comparator.comparingLong(LeakSuspect::bytes).reversed());
        return rows.subList(0, Math.min(MAX_ROWS, rows.size()));
    }

    // ---- events

    private void take(List<PeakAt> here, long thread) {
        for (PeakAt peak : here) {
            peaks.take(peak.measure, peak.space, peak.top);
            if (peak.measure == Measure.RESERVED && peak.space == focus) {
                waste.take(thread, time);
            }
        }
    }

    private void inWorkspace(int slot, AllocationKind kind, ThreadBook.Entry thread) {
        switch (kind) {
            case SPILL, PINNED_SPILL -> {
                thread.spills++;
                thread.spilledBytes += live.roundedBytes(slot);
                change(WorkspaceChange.Type.SPILL, slot);
            }
            case WORKSPACE_BLOCK -> {
                waste.blockBegan(slot);
                boolean again = !withBlock
                        .computeIfAbsent(live.workspace(slot), key -> new HashSet<>())
                        .add(live.space(slot));
                boolean mirror = first.workspaces
                        .find(live.workspace(slot))
                        .filter(entry -> entry.primary() != live.space(slot))
                        .isPresent();
                if (again && !mirror) {
                    thread.resizes++;
                    change(WorkspaceChange.Type.RESIZE, slot);
                }
            }
            case WORKSPACE_ARRAY, DETACHED -> {}
        }
    }

    private void change(WorkspaceChange.Type type, int slot) {
        if (changes.size() < options.maxChanges()) {
            Owner owner = owners.get(live.owner(slot));
            String name = first.workspaces
                    .find(live.workspace(slot))
                    .map(entry -> entry.info.name())
                    .orElse(owner.workspace());
            changes.add(new WorkspaceChange(
                    type, time, iterations.size(), live.workspace(slot), name, owner.layer(), live.roundedBytes(slot)));
        }
    }

    private void profile(int slot) {
        long event = live.event();
        for (Window window : windows) {
            if (event >= window.of.first()
                    && event <= window.of.last()
                    && live.thread(slot) == window.of.thread()
                    && live.kind(slot) != AllocationKind.WORKSPACE_BLOCK) {
                List<AllocationStep> allocations = profiles.computeIfAbsent(window.index, k -> new ArrayList<>());
                if (allocations.size() <= options.maxProfileSteps()) {
                    allocations.add(new AllocationStep(
                            owners.get(live.owner(slot)),
                            live.kind(slot),
                            live.space(slot),
                            live.requestedBytes(slot),
                            live.roundedBytes(slot)));
                }
            }
        }
    }

    /** The next event at which something peaks, -1 when there is none. */
    private long following(long event) {
        Long next = peakEvents.higherKey(event);
        return next == null ? -1 : next;
    }

    private void iterationEnded(long thread, int owner, long number, long epoch) {
        ThreadBook.Entry entry = threads.entry(thread, time);
        iterations.add(new IterationRow(
                owners.get(owner).network(),
                number,
                epoch,
                thread,
                entry.startNanos,
                time,
                entry.peakReserved,
                entry.peakInUse,
                live.reservedBytes(focus),
                live.inUseBytes(focus),
                entry.allocations,
                entry.allocatedBytes,
                entry.spills,
                entry.spilledBytes,
                entry.resizes,
                entry.transferredBytes));
        entry.nextIteration(time, live.event(), live.reservedBytes(focus), live.inUseBytes(focus));
        for (Scenario scenario : scenarios) {
            scenario.iterationEnded(thread);
        }
        if (step == Growth.Step.ITERATION) {
            stepEnded();
        }
    }

    private void stepEnded() {
        if (steps++ % stepStride == 0) {
            growthSamples.add(byOwner.snapshot());
        }
    }

    private void transferred(int code, long thread, long bytes, long nanos) {
        transfers.copied(code, time, thread, bytes, nanos);
        threads.entry(thread, time).transferredBytes += bytes;
    }

    private void collected(long nanos, boolean onDemand) {
        collections++;
        collectionNanos += nanos;
        if (onDemand) {
            forced++;
            forcedNanos += nanos;
            longestForced = Math.max(longestForced, nanos);
        }
    }
}
