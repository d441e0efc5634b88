// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import java.util.List;
import java.util.Optional;

/**
 * Everything that a trace tells about memory. Sizes are bytes, times {@link System#nanoTime()} values of the recorded run.
 *
 * @param facts what was recorded
 * @param focus the space that figures without a space are about: the device if it was used, else the one with the largest
 *     reserved peak
 * @param peaks for each space with bytes its reserved and its in-use peak, those of the focus space first
 * @param layers arrays by layer and phase, largest peak first
 * @param categories arrays by category
 * @param workspaceNames arrays by workspace name, {@code ""} for detached ones
 * @param owners arrays by owner
 * @param workspaces workspace instances, largest block first
 * @param changes spills and resizes, in order
 * @param iterations training iterations, in order of their ends
 * @param profiles iterations looked at one allocation at a time
 * @param waste where the reserved bytes of the peak went
 * @param liveness what the workspace arrays of each thread needed at least; empty when uses were not recorded
 * @param fragmentation holes over time
 * @param growth owners whose bytes changed, steepest first
 * @param suspects what was never freed, largest first
 * @param process the process as the system saw it; empty when the trace has no samples
 * @param transfers copies by direction
 * @param transferBins the same over time, without bins in which nothing was copied
 * @param collections Java garbage collections
 * @param failures allocations that were refused
 * @param advice what to do, best first
 */
public record TraceAnalysis(
        TraceFacts facts,
        MemorySpace focus,
        List<Peak> peaks,
        List<UsageRow<LayerKey>> layers,
        List<UsageRow<Category>> categories,
        List<UsageRow<String>> workspaceNames,
        List<UsageRow<Owner>> owners,
        List<WorkspaceRow> workspaces,
        List<WorkspaceChange> changes,
        List<IterationRow> iterations,
        List<IterationProfile> profiles,
        Waste waste,
        List<LivenessRow> liveness,
        List<FragmentationSample> fragmentation,
        List<Growth> growth,
        List<LeakSuspect> suspects,
        Optional<ProcessRow> process,
        List<TransferRow> transfers,
        List<TransferBin> transferBins,
        GcRow collections,
        long failures,
        List<Advice> advice) {

    public TraceAnalysis {
        peaks = List.copyOf(peaks);
        layers = List.copyOf(layers);
        categories = List.copyOf(categories);
        workspaceNames = List.copyOf(workspaceNames);
        owners = List.copyOf(owners);
        workspaces = List.copyOf(workspaces);
        changes = List.copyOf(changes);
        iterations = List.copyOf(iterations);
        profiles = List.copyOf(profiles);
        liveness = List.copyOf(liveness);
        fragmentation = List.copyOf(fragmentation);
        growth = List.copyOf(growth);
        suspects = List.copyOf(suspects);
        transfers = List.copyOf(transfers);
        transferBins = List.copyOf(transferBins);
        advice = List.copyOf(advice);
    }

    /** The peak of one sum in one space; empty when nothing was ever there. */
    public Optional<Peak> peak(Measure measure, MemorySpace space) {
        return peaks.stream()
                .filter(peak -> peak.measure() == measure && peak.space() == space)
                .findFirst();
    }

    /** Bytes of {@link #peak}, 0 when nothing was ever there. */
    public long peakBytes(Measure measure, MemorySpace space) {
        return peak(measure, space).map(Peak::bytes).orElse(0L);
    }

    /** Names of the networks that have layers in the trace, copies that were only tried among them; sorted. */
    public List<String> networks() {
        return layers.stream()
                .map(row -> row.key().network())
                .filter(name -> !name.isEmpty())
                .distinct()
                .sorted()
                .toList();
    }
}
