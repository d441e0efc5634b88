// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.strategy.offload.OutputFiles;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Where outputs go that later segments need: the workspace of all activations, or files. Threading: confined. */
final class KeptOutputs {
    private final LayerWorkspaceMgr kept;
    private final LayerWorkspaceMgr inner;
    private final @Nullable OutputFiles files;

    KeptOutputs(PassAccess access, @Nullable OutputFiles files) {
        this.kept = access.kept();
        this.inner = access.inner();
        this.files = files;
    }

    /** With which their layers compute. */
    LayerWorkspaceMgr manager() {
        return files == null ? kept : inner;
    }

    /** {@code output} of the layer at {@code position}, made with {@link #manager()}, where it stays. */
    INDArray keep(int position, INDArray output) {
        INDArray copy = files == null ? null : files.copy(position, output);
        if (copy != null) {
            return copy;
        }
        // Some layers return a view of their input.
        boolean inSegment = output.isAttached()
                && output.data().getParentWorkspace().getId().equals(NetworkWorkspaces.SEGMENT);
        return inSegment ? kept.leverageTo(ArrayType.ACTIVATIONS, output) : output;
    }
}
