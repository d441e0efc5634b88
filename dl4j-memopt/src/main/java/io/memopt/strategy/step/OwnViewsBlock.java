// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A block of an updater that knows its own gradient and parameters again when they come as somebody else's, see {@link OwnViews}.
 * Threading: as the updater, one thread at a time.
 */
final class OwnViewsBlock extends UpdaterBlock {
    /** A block for the same parameters as {@code block}, without its state. */
    OwnViewsBlock(UpdaterBlock block) {
        super(
                block.getParamOffsetStart(),
                block.getParamOffsetEnd(),
                block.getUpdaterViewOffsetStart(),
                block.getUpdaterViewOffsetEnd(),
                block.getLayersAndVariablesInBlock());
    }

    @Override
    public void updateExternalGradient(int iteration, int epoch, INDArray gradient, INDArray parameters) {
        if (isOwn(gradient, parameters)) {
            update(iteration, epoch);
        } else {
            super.updateExternalGradient(iteration, epoch, gradient, parameters);
        }
    }

    /** Whether these are what the updater was made for. */
    boolean isOwn(INDArray gradient, INDArray parameters) {
        if (!isPart(getGradientView(), getParamOffsetStart(), gradient)) {
            return false;
        }
        for (ParamState parameter : getLayersAndVariablesInBlock()) {
            if (!isPart(parameter.getGradView(), parameter.getParamOffsetStart(), gradient)
                    || !isPart(parameter.getParamView(), parameter.getParamOffsetStart(), parameters)) {
                return false;
            }
        }
        return true;
    }

    /** Whether {@code view} is what {@code whole} has from element {@code from} on. */
    private static boolean isPart(@Nullable INDArray view, long from, INDArray whole) {
        return view != null
                && root(view.data()) == root(whole.data())
                && view.data().offset() == whole.data().offset() + from;
    }

    private static DataBuffer root(DataBuffer data) {
        DataBuffer original = data.originalDataBuffer();
        return original == null ? data : original;
    }
}
