// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static io.memopt.allocator.cudnn.CudnnStream.ONE;
import static io.memopt.allocator.cudnn.CudnnStream.ZERO;
import static io.memopt.allocator.cudnn.CudnnStream.check;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BATCHNORM_SPATIAL;
import static org.bytedeco.cuda.global.cudnn.CUDNN_DATA_FLOAT;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TENSOR_NCHW;
import static org.bytedeco.cuda.global.cudnn.cudnnBatchNormalizationBackward;
import static org.bytedeco.cuda.global.cudnn.cudnnBatchNormalizationForwardInference;
import static org.bytedeco.cuda.global.cudnn.cudnnBatchNormalizationForwardTraining;
import static org.bytedeco.cuda.global.cudnn.cudnnSetTensor4dDescriptor;

import io.memopt.allocator.cudnn.NormalizationEngine.Statistics;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Batch normalisation on a stream, see {@link NormalizationEngine}. Threading: as {@link CudnnStream}. */
final class CudnnNormalizationCalls {
    /** Without effect: running statistics are Deeplearning4j's business and not asked for. */
    private static final double NO_AVERAGE = 1.0;

    private final CudnnStream stream;

    CudnnNormalizationCalls(CudnnStream stream) {
        this.stream = stream;
    }

    void train(INDArray x, INDArray gamma, INDArray beta, double epsilon, INDArray y, Statistics statistics) {
        describe(x);
        check(
                "cudnnBatchNormalizationForwardTraining",
                cudnnBatchNormalizationForwardTraining(
                        stream.handle,
                        CUDNN_BATCHNORM_SPATIAL,
                        ONE,
                        ZERO,
                        stream.x,
                        stream.pointer(x),
                        stream.x,
                        stream.pointer(y),
                        stream.perChannel,
                        stream.pointer(gamma),
                        stream.pointer(beta),
                        NO_AVERAGE,
                        null,
                        null,
                        epsilon,
                        stream.pointer(statistics.mean()),
                        stream.pointer(statistics.inverseDeviation())));
    }

    void infer(
            INDArray x, INDArray gamma, INDArray beta, INDArray mean, INDArray variance, double epsilon, INDArray y) {
        describe(x);
        check(
                "cudnnBatchNormalizationForwardInference",
                cudnnBatchNormalizationForwardInference(
                        stream.handle,
                        CUDNN_BATCHNORM_SPATIAL,
                        ONE,
                        ZERO,
                        stream.x,
                        stream.pointer(x),
                        stream.x,
                        stream.pointer(y),
                        stream.perChannel,
                        stream.pointer(gamma),
                        stream.pointer(beta),
                        stream.pointer(mean),
                        stream.pointer(variance),
                        epsilon));
    }

    void backward(
            INDArray x,
            INDArray dy,
            INDArray gamma,
            double epsilon,
            INDArray dx,
            INDArray dGamma,
            INDArray dBeta,
            Statistics statistics) {
        describe(x);
        check(
                "cudnnBatchNormalizationBackward",
                cudnnBatchNormalizationBackward(
                        stream.handle,
                        CUDNN_BATCHNORM_SPATIAL,
                        ONE,
                        ZERO,
                        ONE,
                        ZERO,
                        stream.x,
                        stream.pointer(x),
                        stream.x,
                        stream.pointer(dy),
                        stream.x,
                        stream.pointer(dx),
                        stream.perChannel,
                        stream.pointer(gamma),
                        stream.pointer(dGamma),
                        stream.pointer(dBeta),
                        epsilon,
                        stream.pointer(statistics.mean()),
                        stream.pointer(statistics.inverseDeviation())));
    }

    private void describe(INDArray x) {
        check(
                "cudnnSetTensor4dDescriptor",
                cudnnSetTensor4dDescriptor(
                        stream.x,
                        CUDNN_TENSOR_NCHW,
                        CUDNN_DATA_FLOAT,
                        (int) x.size(0),
                        (int) x.size(1),
                        (int) x.size(2),
                        (int) x.size(3)));
        check(
                "cudnnSetTensor4dDescriptor",
                cudnnSetTensor4dDescriptor(
                        stream.perChannel, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, (int) x.size(1), 1, 1));
    }
}
