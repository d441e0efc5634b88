// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.allocator.recording.WindowPeaks;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Peaks of layers: for each network the layers with the largest peaks since the start, and the rest as one. A layer's
 * figure adds the peaks of its categories, workspaces and spaces, which may have been at different moments: an upper
 * bound.
 */
final class LayerRows {
    private static final int MAX_LAYERS = 50;

    private final MemoryLedger ledger;
    private final TrainingFigures training;

    LayerRows(MemoryLedger ledger, TrainingFigures training) {
        this.ledger = ledger;
        this.training = training;
    }

    void collect(Rows rows, List<OwnerUsage> usage, WindowPeaks peaks) {
        List<OwnerUsage> ofLayers = usage.stream()
                .filter(u -> !u.owner().layer().isEmpty() && u.peakBytes() > 0)
                .filter(u -> !training.isRemoved(u.owner().network()))
                .toList();
        Map<String, Set<String>> listed = largest(ofLayers);
        for (OwnerUsage one : ofLayers) {
            Owner owner = one.owner();
            String network = training.labelOf(owner.network());
            boolean own = listed.getOrDefault(network, Set.of()).contains(owner.layer());
            long peak = peaks.ownerBytes(ledger.owners().idOf(owner), one.space());
            Phase phase = owner.phase();
            rows.add(
                    Metric.LAYER_PEAK,
                    Math.max(peak, one.liveBytes()),
                    "network",
                    network,
                    "layer",
                    own ? BoundedNames.cut(owner.layer()) : BoundedNames.OTHER,
                    "phase",
                    LedgerMetrics.lower(phase));
        }
    }

    /** By label of the network: the layers that are listed by name. */
    private Map<String, Set<String>> largest(List<OwnerUsage> usage) {
        Map<String, Map<String, Long>> bytes = new HashMap<>();
        for (OwnerUsage one : usage) {
            bytes.computeIfAbsent(training.labelOf(one.owner().network()), n -> new HashMap<>())
                    .merge(one.owner().layer(), one.peakBytes(), Long::sum);
        }
        Map<String, Set<String>> listed = new HashMap<>();
        bytes.forEach((network, layers) -> {
            Set<String> names = new HashSet<>();
            layers.entrySet().stream()
                    .sorted(Map.Entry.<String, Long>comparingByValue()
                            .reversed()
                            .thenComparing(Map.Entry.comparingByKey(Comparator.naturalOrder())))
                    .limit(MAX_LAYERS)
                    .forEach(entry -> names.add(entry.getKey()));
            listed.put(network, names);
        });
        return listed;
    }
}
