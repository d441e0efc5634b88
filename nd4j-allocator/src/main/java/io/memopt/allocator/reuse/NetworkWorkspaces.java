// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

import java.util.List;

/** Which workspaces planned arenas stand in for. Threading: stateless. */
public final class NetworkWorkspaces {
    /** Under this name the block of an arena appears in figures and traces. */
    public static final String ARENA = "MEMOPT_ARENA";

    /** Activations that checkpointing keeps for one segment of layers. */
    public static final String SEGMENT = "WS_MEMOPT_SEGMENT";

    private static final List<String> SERVED =
            List.of("WS_ALL_LAYERS_ACT", "WS_LAYER_WORKING_MEM", "WS_RNN_LOOP_WORKING_MEM", "WS_OUTPUT_MEM", SEGMENT);

    private static final String LAYER_ACT = "WS_LAYER_ACT_";

    private NetworkWorkspaces() {}

    /** Whether the arrays of {@code workspace} are those of a network. */
    public static boolean serves(String workspace) {
        return SERVED.contains(workspace) || workspace.startsWith(LAYER_ACT);
    }
}
