// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Arrays as the library reads them: {@code [batch, channels, height, width]}, dense, in c order. Results for layers in NHWC are
 * views of such arrays, so that a chain of such layers copies nothing.
 */
final class DenseArrays {
    private DenseArrays() {}

    /** Whether elements lie one after another in c order; strides of dimensions of size 1 do not matter. */
    static boolean isDense(INDArray array) {
        long expected = 1;
        for (int i = array.rank() - 1; i >= 0; i--) {
            if (array.size(i) != 1 && array.stride(i) != expected) {
                return false;
            }
            expected *= array.size(i);
        }
        return true;
    }

    /** {@code array} itself, or a copy in the current workspace. */
    static INDArray dense(INDArray array) {
        return isDense(array) ? array : array.dup('c');
    }

    /** A view with channels first. */
    static INDArray channelsFirst(INDArray array, CNN2DFormat format) {
        return format == CNN2DFormat.NHWC ? array.permute(0, 3, 1, 2) : array;
    }

    /** A view in {@code format} of an array with channels first. */
    static INDArray inFormat(INDArray array, CNN2DFormat format) {
        return format == CNN2DFormat.NHWC ? array.permute(0, 2, 3, 1) : array;
    }
}
