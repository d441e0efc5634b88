// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import java.util.regex.Pattern;

/**
 * What bytes are for, told by Deeplearning4j's own names: the workspace an array is placed in says which array type it
 * is, the phase says in which direction the network runs. Parameters, gradients, updater state and inputs are found by
 * identity elsewhere and override these rules.
 */
final class CategoryRules {
    static final String ALL_LAYERS_ACT = "WS_ALL_LAYERS_ACT";
    static final String LAYER_ACT = "WS_LAYER_ACT_";
    static final String WORKING_MEMORY = "WS_LAYER_WORKING_MEM";
    static final String RNN_LOOP = "WS_RNN_LOOP_WORKING_MEM";
    static final String OUTPUT = "WS_OUTPUT_MEM";

    private static final Pattern RANDOM_SUFFIX = Pattern.compile("[-_][0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$");

    private CategoryRules() {}

    /** The category of an owner whose network, layer, phase and workspace are filled in. */
    static Category categoryOf(Owner owner) {
        String workspace = owner.workspace();
        if (workspace.isEmpty()) {
            return detached(owner.phase());
        }
        if (workspace.equals(ALL_LAYERS_ACT)) {
            // The updater borrows this workspace between two iterations, see MultiLayerNetwork.fit.
            return owner.phase() == Phase.UPDATE ? Category.WORKING_MEMORY : Category.ACTIVATIONS;
        }
        if (workspace.startsWith(LAYER_ACT)) {
            return owner.phase() == Phase.BACKWARD ? Category.ACTIVATION_GRADIENTS : Category.ACTIVATIONS;
        }
        if (workspace.equals(WORKING_MEMORY) || workspace.equals(RNN_LOOP)) {
            return Category.WORKING_MEMORY;
        }
        if (workspace.equals(OUTPUT) || workspace.equals(NetworkWorkspaces.SEGMENT)) {
            return Category.ACTIVATIONS;
        }
        if (workspace.startsWith("ADSI") || workspace.startsWith("AMDSI")) {
            return Category.INPUT;
        }
        return workspace.toUpperCase(java.util.Locale.ROOT).contains("CUDNN")
                ? Category.HELPER_SCRATCH
                : Category.OTHER;
    }

    /** ND4J's workspace name without the random part that would make a new name for every iterator. */
    static String stableName(String workspace) {
        return RANDOM_SUFFIX.matcher(workspace).replaceFirst("");
    }

    /** While a layer runs, what it detaches is its working memory; what inference detaches is its result. */
    private static Category detached(Phase phase) {
        return switch (phase) {
            case FORWARD, BACKWARD, SCORE, UPDATE -> Category.WORKING_MEMORY;
            case INFERENCE, EVALUATION -> Category.ACTIVATIONS;
            case NONE, OTHER -> Category.OTHER;
        };
    }
}
