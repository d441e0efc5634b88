// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static io.memopt.allocator.cudnn.CudnnStream.ONE;
import static io.memopt.allocator.cudnn.CudnnStream.ZERO;
import static io.memopt.allocator.cudnn.CudnnStream.check;
import static org.bytedeco.cuda.global.cudnn.CUDNN_CROSS_CORRELATION;
import static org.bytedeco.cuda.global.cudnn.CUDNN_DATA_FLOAT;
import static org.bytedeco.cuda.global.cudnn.CUDNN_DEFAULT_MATH;
import static org.bytedeco.cuda.global.cudnn.CUDNN_FMA_MATH;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TENSOR_NCHW;
import static org.bytedeco.cuda.global.cudnn.cudnnConvolutionBackwardData;
import static org.bytedeco.cuda.global.cudnn.cudnnConvolutionBackwardFilter;
import static org.bytedeco.cuda.global.cudnn.cudnnConvolutionForward;
import static org.bytedeco.cuda.global.cudnn.cudnnGetConvolutionBackwardDataAlgorithm_v7;
import static org.bytedeco.cuda.global.cudnn.cudnnGetConvolutionBackwardDataWorkspaceSize;
import static org.bytedeco.cuda.global.cudnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7;
import static org.bytedeco.cuda.global.cudnn.cudnnGetConvolutionBackwardFilterWorkspaceSize;
import static org.bytedeco.cuda.global.cudnn.cudnnGetConvolutionForwardAlgorithm_v7;
import static org.bytedeco.cuda.global.cudnn.cudnnGetConvolutionForwardWorkspaceSize;
import static org.bytedeco.cuda.global.cudnn.cudnnSetConvolution2dDescriptor;
import static org.bytedeco.cuda.global.cudnn.cudnnSetConvolutionGroupCount;
import static org.bytedeco.cuda.global.cudnn.cudnnSetConvolutionMathType;
import static org.bytedeco.cuda.global.cudnn.cudnnSetFilter4dDescriptor;
import static org.bytedeco.cuda.global.cudnn.cudnnSetTensor4dDescriptor;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.cuda.cudnn.cudnnConvolutionBwdDataAlgoPerf_t;
import org.bytedeco.cuda.cudnn.cudnnConvolutionBwdFilterAlgoPerf_t;
import org.bytedeco.cuda.cudnn.cudnnConvolutionFwdAlgoPerf_t;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A pass by cuDNN's older functions. A minibatch in parts is that many calls on consecutive items; gradients of the weights add up
 * over them.
 */
final class CudnnConvolutionCalls extends StreamCalls {
    private static final Logger log = LoggerFactory.getLogger(CudnnConvolutionCalls.class);
    private static final int MOST_RANKED = 16;

    CudnnConvolutionCalls(
            CudnnStream stream, ConvolutionShape shape, ConvolutionPass pass, Pointer x, Pointer w, Pointer y) {
        super(stream, shape, pass, x, w, y);
    }

    @Override
    public boolean isGraph() {
        return false;
    }

    @Override
    public List<Integer> candidates(ConvolutionMath math) {
        return IntStream.range(0, pass.algorithms()).boxed().toList();
    }

    @Override
    public boolean repeats(int algorithm) {
        return pass.repeats(algorithm);
    }

    @Override
    public long scratchBytes(int algorithm, ConvolutionMath math, int items) {
        describe(items, math);
        try (SizeTPointer bytes = new SizeTPointer(1)) {
            int status = switch (pass) {
                case FORWARD ->
                    cudnnGetConvolutionForwardWorkspaceSize(
                            stream.handle, stream.x, stream.w, stream.convolution, stream.y, algorithm, bytes);
                case BACKWARD_DATA ->
                    cudnnGetConvolutionBackwardDataWorkspaceSize(
                            stream.handle, stream.w, stream.y, stream.convolution, stream.x, algorithm, bytes);
                case BACKWARD_FILTER ->
                    cudnnGetConvolutionBackwardFilterWorkspaceSize(
                            stream.handle, stream.x, stream.y, stream.convolution, stream.w, algorithm, bytes);
            };
            return status == 0 ? bytes.get() : -1;
        }
    }

    @Override
    public boolean run(ConvolutionAlgorithm algorithm) {
        long scratch = stream.scratch.place(algorithm.scratchBytes());
        if (scratch == Scratch.NONE) {
            log.debug("no memory for scratch of {} for {}", algorithm, shape);
            return false;
        }
        int items = shape.batch() / algorithm.parts();
        describe(items, algorithm.math());
        for (int part = 0; part < algorithm.parts(); part++) {
            int status = launch(algorithm, (long) part * items, part > 0, new DevicePlace(scratch));
            if (status != 0) {
                log.debug("{} refused {} for {}: {}", pass, algorithm, shape, CudnnStream.name(status));
                return false;
            }
        }
        return true;
    }

    private int launch(ConvolutionAlgorithm algorithm, long firstItem, boolean further, Pointer block) {
        Pointer input = at(x, firstItem * shape.inputItem());
        Pointer output = at(y, firstItem * shape.outputItem());
        long bytes = algorithm.scratchBytes();
        int id = algorithm.id();
        return switch (pass) {
            case FORWARD ->
                cudnnConvolutionForward(
                        stream.handle,
                        ONE,
                        stream.x,
                        input,
                        stream.w,
                        w,
                        stream.convolution,
                        id,
                        block,
                        bytes,
                        ZERO,
                        stream.y,
                        output);
            case BACKWARD_DATA ->
                cudnnConvolutionBackwardData(
                        stream.handle,
                        ONE,
                        stream.w,
                        w,
                        stream.y,
                        output,
                        stream.convolution,
                        id,
                        block,
                        bytes,
                        ZERO,
                        stream.x,
                        input);
            case BACKWARD_FILTER ->
                cudnnConvolutionBackwardFilter(
                        stream.handle,
                        ONE,
                        stream.x,
                        input,
                        stream.y,
                        output,
                        stream.convolution,
                        id,
                        block,
                        bytes,
                        further ? ONE : ZERO,
                        stream.w,
                        w);
        };
    }

    private void describe(int items, ConvolutionMath math) {
        check(
                "cudnnSetTensor4dDescriptor",
                cudnnSetTensor4dDescriptor(
                        stream.x,
                        CUDNN_TENSOR_NCHW,
                        CUDNN_DATA_FLOAT,
                        items,
                        shape.channels(),
                        shape.height(),
                        shape.width()));
        check(
                "cudnnSetTensor4dDescriptor",
                cudnnSetTensor4dDescriptor(
                        stream.y,
                        CUDNN_TENSOR_NCHW,
                        CUDNN_DATA_FLOAT,
                        items,
                        shape.filters(),
                        shape.outHeight(),
                        shape.outWidth()));
        check(
                "cudnnSetFilter4dDescriptor",
                cudnnSetFilter4dDescriptor(
                        stream.w,
                        CUDNN_DATA_FLOAT,
                        CUDNN_TENSOR_NCHW,
                        shape.filters(),
                        shape.channels() / shape.groups(),
                        shape.kernelHeight(),
                        shape.kernelWidth()));
        check(
                "cudnnSetConvolution2dDescriptor",
                cudnnSetConvolution2dDescriptor(
                        stream.convolution,
                        shape.padHeight(),
                        shape.padWidth(),
                        shape.strideHeight(),
                        shape.strideWidth(),
                        shape.dilationHeight(),
                        shape.dilationWidth(),
                        CUDNN_CROSS_CORRELATION,
                        CUDNN_DATA_FLOAT));
        check("cudnnSetConvolutionGroupCount", cudnnSetConvolutionGroupCount(stream.convolution, shape.groups()));
        check(
                "cudnnSetConvolutionMathType",
                cudnnSetConvolutionMathType(
                        stream.convolution, math == ConvolutionMath.TF32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH));
    }

    @Override
    public List<Integer> ranking() {
        describe(shape.batch(), ConvolutionMath.FMA);
        List<Integer> ids = new ArrayList<>();
        try (IntPointer count = new IntPointer(1)) {
            switch (pass) {
                case FORWARD -> {
                    cudnnConvolutionFwdAlgoPerf_t rows = new cudnnConvolutionFwdAlgoPerf_t(MOST_RANKED);
                    int status = cudnnGetConvolutionForwardAlgorithm_v7(
                            stream.handle, stream.x, stream.w, stream.convolution, stream.y, MOST_RANKED, count, rows);
                    for (int i = 0; status == 0 && i < count.get(); i++) {
                        add(ids, rows.position(i).status(), rows.algo());
                    }
                }
                case BACKWARD_DATA -> {
                    cudnnConvolutionBwdDataAlgoPerf_t rows = new cudnnConvolutionBwdDataAlgoPerf_t(MOST_RANKED);
                    int status = cudnnGetConvolutionBackwardDataAlgorithm_v7(
                            stream.handle, stream.w, stream.y, stream.convolution, stream.x, MOST_RANKED, count, rows);
                    for (int i = 0; status == 0 && i < count.get(); i++) {
                        add(ids, rows.position(i).status(), rows.algo());
                    }
                }
                case BACKWARD_FILTER -> {
                    cudnnConvolutionBwdFilterAlgoPerf_t rows = new cudnnConvolutionBwdFilterAlgoPerf_t(MOST_RANKED);
                    int status = cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                            stream.handle, stream.x, stream.y, stream.convolution, stream.w, MOST_RANKED, count, rows);
                    for (int i = 0; status == 0 && i < count.get(); i++) {
                        add(ids, rows.position(i).status(), rows.algo());
                    }
                }
            }
        }
        return ids;
    }

    private static void add(List<Integer> ids, int status, int algorithm) {
        if (status == 0 && !ids.contains(algorithm)) {
            ids.add(algorithm);
        }
    }

    private static Pointer at(Pointer base, long floats) {
        return floats == 0 ? base : new DevicePlace(base.address() + floats * Float.BYTES);
    }
}
