// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

import java.util.Objects;

/**
 * To whom bytes belong. Small and interned by {@link OwnerTable}: events carry its number, not the record.
 *
 * @param network name of the attached network, or {@code ""} when unknown
 * @param layer layer or vertex name, or {@code ""} when no single layer is responsible
 * @param phase what the allocating thread did
 * @param category what the bytes are for
 * @param workspace ND4J workspace name, or {@code ""} for detached memory
 */
public record Owner(String network, String layer, Phase phase, Category category, String workspace) {

    private static final String TRIAL = " trial";

    /** Nobody known. */
    public static final Owner UNKNOWN = new Owner("", "", Phase.NONE, Category.OTHER, "");

    public Owner {
        Objects.requireNonNull(network, "network");
        Objects.requireNonNull(layer, "layer");
        Objects.requireNonNull(phase, "phase");
        Objects.requireNonNull(category, "category");
        Objects.requireNonNull(workspace, "workspace");
    }

    /** Name for a copy of {@code network}, or of a network of that type, that is only tried. */
    public static String trialOf(String network) {
        return network + TRIAL;
    }

    /** Whether {@code network} names a copy that is only tried, see {@link ExtraPass#TRIED}. */
    public static boolean isTrial(String network) {
        return network.endsWith(TRIAL);
    }

    /** The same owner with another category. */
    public Owner withCategory(Category newCategory) {
        return new Owner(network, layer, phase, newCategory, workspace);
    }

    /** The same owner in another workspace. */
    public Owner withWorkspace(String newWorkspace) {
        return new Owner(network, layer, phase, category, newWorkspace);
    }

    /** True when a layer, a network, a workspace or a category other than {@link Category#OTHER} is known. */
    public boolean isAttributed() {
        return category != Category.OTHER || !layer.isEmpty() || !network.isEmpty() || !workspace.isEmpty();
    }
}
