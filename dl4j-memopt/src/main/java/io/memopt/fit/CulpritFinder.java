// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.recording.ByteSize;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Finds the layer that needs most and says why. */
final class CulpritFinder {
    private static final int MOST_GROUPS = 3;
    /** Bytes by which rounding may part an unfolded input from its formula. */
    private static final double ROUNDING = 0.01;

    private final LayerFacts facts;

    CulpritFinder(LayerFacts facts) {
        this.facts = facts;
    }

    /** @param activations bytes of each layer's output, if known, to recognise unfolded inputs by */
    Culprit find(Composition composition, Map<String, Long> activations) {
        Map<String, Long> byLayer = new TreeMap<>();
        composition.parts().stream()
                .filter(part -> !part.layer().isEmpty())
                .forEach(part -> byLayer.merge(part.layer(), part.bytes(), Long::sum));
        return byLayer.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .map(most -> culprit(composition, most.getKey(), most.getValue(), activations))
                .orElseGet(() -> new Culprit("", 0, "no layer is known to need more than the others", ""));
    }

    private Culprit culprit(Composition composition, String layer, long bytes, Map<String, Long> activations) {
        Part largest = composition.parts().stream()
                .filter(part -> part.layer().equals(layer))
                .max(Comparator.comparingLong(Part::bytes))
                .orElseThrow();
        long share = Math.round(100.0 * bytes / composition.bytes());
        String where = largest.workspace().isEmpty() ? "detached arrays" : largest.workspace();
        String text = facts.describe(layer) + " needs " + ByteSize.scaled(bytes) + ", " + share + " % of "
                + ByteSize.scaled(composition.bytes()) + ": mostly "
                + words(largest.category()) + " of its "
                + largest.phase().name().toLowerCase(Locale.ROOT)
                + " pass in " + where + ", " + arrays(largest, layer, activations.getOrDefault(layer, 0L));
        return new Culprit(layer, bytes, text, "");
    }

    private String arrays(Part part, String layer, long activationBytes) {
        double unfolded = facts.unfoldFactor(layer) * activationBytes;
        List<String> groups = new ArrayList<>();
        int from = 0;
        while (from < part.arrays().size() && groups.size() < MOST_GROUPS) {
            long size = part.arrays().get(from);
            int to = from;
            while (to < part.arrays().size() && part.arrays().get(to) == size) {
                to++;
            }
            boolean unfold = unfolded > 0 && Math.abs(size - unfolded) <= ROUNDING * unfolded;
            groups.add((to - from) + " of " + ByteSize.scaled(size)
                    + (unfold ? " (the input unfolded for each output pixel, im2col)" : ""));
            from = to;
        }
        String rest = from < part.arrays().size() ? ", and " + (part.arrays().size() - from) + " smaller" : "";
        return "arrays: " + String.join(", ", groups) + rest;
    }

    private static String words(Category category) {
        return category.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
