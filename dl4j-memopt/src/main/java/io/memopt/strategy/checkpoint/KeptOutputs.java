// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.strategy.offload.OutputStore;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Where outputs go that later segments need: the workspace of all activations, or a store. Threading: confined. */
final class KeptOutputs {
    private final LayerWorkspaceMgr kept;
    private final LayerWorkspaceMgr inner;
    private final @Nullable OutputStore store;
    private final Map<Integer, INDArray> inWorkspace = new HashMap<>();

    KeptOutputs(PassAccess access, @Nullable OutputStore store) {
        this.kept = access.kept();
        this.inner = access.inner();
        this.store = store;
    }

    /**
     * A pass begins, in whose workspace there is room.
     *
     * @param uses positions whose outputs are used in each stage, see {@link OutputStore}
     */
    void begin(List<Set<Integer>> uses) {
        if (store != null) {
            store.begin(
                    uses,
                    (type, elements) ->
                            kept.createUninitialized(ArrayType.ACTIVATIONS, type, new long[] {elements}, 'c'));
        }
    }

    void stage(int stage) {
        if (store != null) {
            store.stage(stage);
        }
    }

    /** The pass is over, or has failed. */
    void end() {
        if (store != null) {
            store.end();
        }
    }

    /** With which their layers compute. */
    LayerWorkspaceMgr manager() {
        return store == null ? kept : inner;
    }

    /** Keeps {@code output} of the layer at {@code position}, made with {@link #manager()}. */
    void keep(int position, INDArray output) {
        if (store == null || !store.keep(position, output)) {
            // Some layers return a view of their input.
            boolean inSegment = output.isAttached()
                    && output.data().getParentWorkspace().getId().equals(NetworkWorkspaces.SEGMENT);
            inWorkspace.put(position, inSegment ? kept.leverageTo(ArrayType.ACTIVATIONS, output) : output);
        }
    }

    /** What was kept of {@code position}; in the present stage it is used, or was kept. Null if nothing was. */
    @Nullable
    INDArray get(int position) {
        INDArray known = inWorkspace.get(position);
        return known != null || store == null ? known : store.get(position);
    }
}
