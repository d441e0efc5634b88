// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The result of a layer's latest forward pass, given out again at most once: for the same input and weights, and while the scope
 * that it lies in is still open. Arrays outside workspaces are not kept, for nothing would say when they are stale, and keeping
 * them would keep their memory.
 */
final class ForwardResult {
    private @Nullable INDArray input;
    private @Nullable INDArray weights;
    private @Nullable INDArray result;

    void keep(INDArray itsInput, INDArray itsWeights, INDArray itsResult) {
        if (itsResult.isAttached()) {
            input = itsInput;
            weights = itsWeights;
            result = itsResult;
        }
    }

    /** The result kept, if it is that of these very arrays; it is forgotten in any case. */
    @Nullable
    INDArray take(INDArray itsInput, INDArray itsWeights) {
        INDArray known = result;
        boolean same = input == itsInput && weights == itsWeights;
        forget();
        return known != null && same && isInScope(known) ? known : null;
    }

    void forget() {
        input = null;
        weights = null;
        result = null;
    }

    private static boolean isInScope(INDArray array) {
        MemoryWorkspace workspace = array.data().getParentWorkspace();
        return workspace != null
                && workspace.isScopeActive()
                && workspace.getGenerationId() == array.data().getGenerationId();
    }
}
