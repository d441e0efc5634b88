// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import java.util.HashMap;
import java.util.Map;

/**
 * Layers whose detached arrays are known to be what the layer left behind, and no results that somebody asked for. A trace tells
 * where arrays were made only of large ones that are live at its end; a layer that is known in one phase is known in others that
 * tell nothing.
 *
 * <p>Threading: immutable.
 */
public final class Residues {
    /** The method of Deeplearning4j 1.0.0-M2.1 that copies two arrays out of the workspaces in every pass. */
    private static final String NORMALIZATION = "BatchNormalization.preOutput";

    private final Map<LayerKey, Boolean> known = new HashMap<>();

    /** {@code sites}: by owner number, the place that made most of its live detached bytes. */
    Residues(Map<Integer, String> sites, Owners owners) {
        sites.forEach((number, site) -> {
            Owner owner = owners.get(number);
            known.merge(key(owner, owner.phase()), isLeftBehind(site), Boolean::logicalAnd);
            known.merge(key(owner, Phase.NONE), isLeftBehind(site), Boolean::logicalOr);
        });
    }

    /** Whether {@code site}, e.g. {@code BatchNormalization.preOutput:590 in ...}, makes what no caller ever sees. */
    public static boolean isLeftBehind(String site) {
        return site.startsWith(NORMALIZATION);
    }

    /** Whether detached arrays of {@code owner} are such, as far as is known. */
    boolean contains(Owner owner) {
        Boolean here = known.get(key(owner, owner.phase()));
        return here != null ? here : known.getOrDefault(key(owner, Phase.NONE), false);
    }

    /** With phase {@link Phase#NONE}, in which layers do nothing, for all phases. */
    private static LayerKey key(Owner owner, Phase phase) {
        return new LayerKey(owner.network(), owner.layer(), phase);
    }
}
