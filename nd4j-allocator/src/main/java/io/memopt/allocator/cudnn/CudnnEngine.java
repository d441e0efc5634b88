// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static io.memopt.allocator.cudnn.CudnnStream.ONE;
import static io.memopt.allocator.cudnn.CudnnStream.ZERO;
import static io.memopt.allocator.cudnn.CudnnStream.check;
import static org.bytedeco.cuda.global.cudnn.CUDNN_DATA_FLOAT;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TENSOR_NCHW;
import static org.bytedeco.cuda.global.cudnn.cudnnAddTensor;
import static org.bytedeco.cuda.global.cudnn.cudnnConvolutionBackwardBias;
import static org.bytedeco.cuda.global.cudnn.cudnnGetVersion;
import static org.bytedeco.cuda.global.cudnn.cudnnSetTensor4dDescriptor;

import io.memopt.allocator.event.Count;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.jita.allocator.impl.AtomicAllocator;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.jcublas.context.CudaContext;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * Convolution and batch normalisation through the functions of cuDNN that versions 8 and 9 share, in FLOAT and NCHW.
 *
 * <p>Bounded: at most {@value #MOST_STREAMS} threads at a time, each with one handle and one block of scratch memory. Threading: safe.
 */
final class CudnnEngine implements LayerEngine {
    private static final int MOST_STREAMS = 64;

    private final ScratchHooks hooks;
    private final CudnnOptions options;
    private final Map<StreamKey, CudnnStream> streams = new ConcurrentHashMap<>();
    private final AlgorithmChooser chooser;
    private final String description;
    private volatile long scratchAloneBytes = Long.MAX_VALUE;
    private volatile boolean closed;

    /** ND4J launches the operations of a thread on a stream of that thread's own, one for each device. */
    private record StreamKey(long thread, int device) {}

    CudnnEngine(CudnnOptions options, AlgorithmStore store, ScratchHooks hooks) {
        this.hooks = hooks;
        this.options = options;
        String device = NativeOpsHolder.getInstance()
                .getDeviceNativeOps()
                .getDeviceName(AtomicAllocator.getInstance().getDeviceId());
        this.description = "cuDNN " + cudnnGetVersion() + " on " + device;
        this.chooser = new AlgorithmChooser(options, store, description);
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public boolean forward(ConvolutionShape shape, INDArray x, INDArray w, @Nullable INDArray bias, INDArray y) {
        CudnnStream stream = stream();
        synchronized (stream) {
            stream.prepare(y, x, w, bias);
            if (!run(stream, shape, ConvolutionPass.FORWARD, x, w, y)) {
                return false;
            }
            if (bias != null) {
                describeOutput(stream, shape);
                check(
                        "cudnnAddTensor",
                        cudnnAddTensor(
                                stream.handle,
                                ONE,
                                stream.perChannel,
                                stream.pointer(bias),
                                ONE,
                                stream.y,
                                stream.pointer(y)));
            }
            CudnnStream.written(y);
            return true;
        }
    }

    @Override
    public boolean backward(
            ConvolutionShape shape,
            INDArray x,
            INDArray w,
            INDArray dy,
            INDArray dx,
            INDArray dw,
            @Nullable INDArray db) {
        CudnnStream stream = stream();
        synchronized (stream) {
            stream.prepare(dx, x, w, dy, dw, db);
            if (!run(stream, shape, ConvolutionPass.BACKWARD_FILTER, x, dw, dy)
                    || !run(stream, shape, ConvolutionPass.BACKWARD_DATA, dx, w, dy)) {
                return false;
            }
            CudnnStream.written(dw);
            CudnnStream.written(dx);
            if (db != null) {
                describeOutput(stream, shape);
                check(
                        "cudnnConvolutionBackwardBias",
                        cudnnConvolutionBackwardBias(
                                stream.handle,
                                ONE,
                                stream.y,
                                stream.pointer(dy),
                                ZERO,
                                stream.perChannel,
                                stream.pointer(db)));
                CudnnStream.written(db);
            }
            return true;
        }
    }

    /** After tuning, the scratch memory that only ways not chosen needed is given back. */
    private boolean run(
            CudnnStream stream, ConvolutionShape shape, ConvolutionPass pass, INDArray x, INDArray w, INDArray y) {
        Pointer input = stream.pointer(x);
        Pointer weights = stream.pointer(w);
        Pointer output = stream.pointer(y);
        BackendPlans plans = stream.plans;
        if (plans != null && GraphConvolutionCalls.suit(input, output)) {
            GraphConvolutionCalls calls = new GraphConvolutionCalls(stream, plans, shape, pass, input, weights, output);
            if (!chooser.knows(calls)) {
                try (BackendPlans trials = plans.fresh()) {
                    choose(stream, new GraphConvolutionCalls(stream, trials, shape, pass, input, weights, output));
                }
            }
            if (chooser.run(calls)) {
                return true;
            }
        }
        ConvolutionCalls calls = new CudnnConvolutionCalls(stream, shape, pass, input, weights, output);
        if (!chooser.knows(calls)) {
            choose(stream, calls);
        }
        return chooser.run(calls);
    }

    private void choose(CudnnStream stream, ConvolutionCalls calls) {
        stream.scratch.beginTrials();
        try {
            chooser.choose(calls);
        } finally {
            stream.scratch.endTrials();
        }
    }

    private static void describeOutput(CudnnStream stream, ConvolutionShape shape) {
        check(
                "cudnnSetTensor4dDescriptor",
                cudnnSetTensor4dDescriptor(
                        stream.y,
                        CUDNN_TENSOR_NCHW,
                        CUDNN_DATA_FLOAT,
                        shape.batch(),
                        shape.filters(),
                        shape.outHeight(),
                        shape.outWidth()));
        check(
                "cudnnSetTensor4dDescriptor",
                cudnnSetTensor4dDescriptor(
                        stream.perChannel, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, shape.filters(), 1, 1));
    }

    @Override
    public void normalizeTraining(
            INDArray x, INDArray gamma, INDArray beta, double epsilon, INDArray y, Statistics statistics) {
        CudnnStream stream = stream();
        synchronized (stream) {
            stream.prepare(y, x, gamma, beta, statistics.mean(), statistics.inverseDeviation());
            new CudnnNormalizationCalls(stream).train(x, gamma, beta, epsilon, y, statistics);
            CudnnStream.written(y);
            CudnnStream.written(statistics.mean());
            CudnnStream.written(statistics.inverseDeviation());
        }
    }

    @Override
    public void normalizeInference(
            INDArray x, INDArray gamma, INDArray beta, INDArray mean, INDArray variance, double epsilon, INDArray y) {
        CudnnStream stream = stream();
        synchronized (stream) {
            stream.prepare(y, x, gamma, beta, mean, variance);
            new CudnnNormalizationCalls(stream).infer(x, gamma, beta, mean, variance, epsilon, y);
            CudnnStream.written(y);
        }
    }

    @Override
    public void normalizeBackward(
            INDArray x,
            INDArray dy,
            INDArray gamma,
            double epsilon,
            INDArray dx,
            INDArray dGamma,
            INDArray dBeta,
            Statistics statistics) {
        CudnnStream stream = stream();
        synchronized (stream) {
            stream.prepare(dx, x, dy, gamma, dGamma, dBeta, statistics.mean(), statistics.inverseDeviation());
            new CudnnNormalizationCalls(stream).backward(x, dy, gamma, epsilon, dx, dGamma, dBeta, statistics);
            CudnnStream.written(dx);
            CudnnStream.written(dGamma);
            CudnnStream.written(dBeta);
        }
    }

    @Override
    public void copy(INDArray from, INDArray to) {
        CudnnStream stream = stream();
        synchronized (stream) {
            stream.prepare(to, from);
            stream.copy(from, to);
            CudnnStream.written(to);
        }
    }

    @Override
    public Optional<AlgorithmTable> table(ConvolutionShape shape, ConvolutionPass pass) {
        return chooser.table(shape, pass);
    }

    @Override
    public Optional<ConvolutionAlgorithm> chosen(ConvolutionShape shape, ConvolutionPass pass) {
        return chooser.chosen(shape, pass);
    }

    @Override
    public void limitScratch(long bytes, long aloneBytes) {
        chooser.limit(bytes, aloneBytes);
        scratchAloneBytes = aloneBytes;
        streams.values().forEach(stream -> {
            synchronized (stream) {
                stream.scratch.limit(aloneBytes);
            }
        });
    }

    @Override
    public Optional<ConvolutionAlgorithm> chosenWithin(ConvolutionShape shape, ConvolutionPass pass, long bytes) {
        return chooser.chosenWithin(shape, pass, bytes);
    }

    @Override
    public long scratchBytes() {
        return streams.values().stream()
                .mapToLong(stream -> stream.scratch.bytes())
                .sum();
    }

    @Override
    public void close() {
        closed = true;
        streams.values().forEach(stream -> {
            synchronized (stream) {
                stream.close();
            }
        });
        streams.clear();
    }

    /** The calling thread's. */
    private CudnnStream stream() {
        if (closed) {
            throw new LayerEngineException(description + " was closed.");
        }
        int device = AtomicAllocator.getInstance().getDeviceId();
        StreamKey key = new StreamKey(Thread.currentThread().getId(), device);
        CudnnStream known = streams.get(key);
        return known != null ? known : open(key);
    }

    private CudnnStream open(StreamKey key) {
        closeThoseOfDeadThreads();
        if (streams.size() >= MOST_STREAMS) {
            throw new LayerEngineException("cuDNN already serves " + Count.of(streams.size(), "thread")
                    + ", the most it may. Train with fewer.");
        }
        CudaContext context = AtomicAllocator.getInstance().getDeviceContext();
        CudnnStream stream = new CudnnStream(context, key.device(), options, hooks);
        stream.scratch.limit(scratchAloneBytes);
        streams.put(key, stream);
        return stream;
    }

    private void closeThoseOfDeadThreads() {
        streams.forEach((key, stream) -> {
            if (!stream.isOwnerAlive() && streams.remove(key, stream)) {
                stream.close();
            }
        });
    }
}
