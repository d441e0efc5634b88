// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static org.bytedeco.cuda.global.cudnn.cudnnCreate;
import static org.bytedeco.cuda.global.cudnn.cudnnCreateConvolutionDescriptor;
import static org.bytedeco.cuda.global.cudnn.cudnnCreateFilterDescriptor;
import static org.bytedeco.cuda.global.cudnn.cudnnCreateTensorDescriptor;
import static org.bytedeco.cuda.global.cudnn.cudnnDestroy;
import static org.bytedeco.cuda.global.cudnn.cudnnDestroyConvolutionDescriptor;
import static org.bytedeco.cuda.global.cudnn.cudnnDestroyFilterDescriptor;
import static org.bytedeco.cuda.global.cudnn.cudnnDestroyTensorDescriptor;
import static org.bytedeco.cuda.global.cudnn.cudnnGetErrorString;
import static org.bytedeco.cuda.global.cudnn.cudnnSetStream;

import java.lang.ref.WeakReference;
import java.util.Arrays;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.cudnn.cudnnContext;
import org.bytedeco.cuda.cudnn.cudnnConvolutionStruct;
import org.bytedeco.cuda.cudnn.cudnnFilterStruct;
import org.bytedeco.cuda.cudnn.cudnnTensorStruct;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.jita.allocator.impl.AllocationPoint;
import org.nd4j.jita.allocator.impl.AtomicAllocator;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.jcublas.context.CudaContext;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * cuDNN's handle, descriptors and scratch memory for the stream of one thread on one device. Everything that is launched goes to the stream
 * on which ND4J launches its own operations, so that no further synchronisation is needed between them.
 *
 * <p>Threading: callers hold the monitor of this object for the whole of a computation.
 */
final class CudnnStream implements AutoCloseable {
    static final FloatPointer ONE = new FloatPointer(1f);
    static final FloatPointer ZERO = new FloatPointer(0f);
    /** The constant of the CUDA runtime, as ND4J has it. */
    private static final int DEVICE_TO_DEVICE = 3;

    final cudnnContext handle = new cudnnContext();
    final cudnnTensorStruct x = new cudnnTensorStruct();
    final cudnnTensorStruct y = new cudnnTensorStruct();
    final cudnnTensorStruct perChannel = new cudnnTensorStruct();
    final cudnnFilterStruct w = new cudnnFilterStruct();
    final cudnnConvolutionStruct convolution = new cudnnConvolutionStruct();
    final Scratch scratch;
    /** Ways of the graphs that are taken on this stream; null without graphs. */
    final @Nullable BackendPlans plans;

    private final CudaContext context;
    private final int device;
    private final WeakReference<Thread> owner = new WeakReference<>(Thread.currentThread());

    CudnnStream(CudaContext context, int device, CudnnOptions options, ScratchHooks hooks) {
        this.context = context;
        this.device = device;
        this.scratch = new Scratch(new DeviceSource(hooks));
        this.plans = options.graphs() ? BackendPlans.on(this, options.deterministic()) : null;
        check("cudnnCreate", cudnnCreate(handle));
        check("cudnnSetStream", cudnnSetStream(handle, new CUstream_st(context.getCublasStream())));
        check("cudnnCreateTensorDescriptor", cudnnCreateTensorDescriptor(x));
        check("cudnnCreateTensorDescriptor", cudnnCreateTensorDescriptor(y));
        check("cudnnCreateTensorDescriptor", cudnnCreateTensorDescriptor(perChannel));
        check("cudnnCreateFilterDescriptor", cudnnCreateFilterDescriptor(w));
        check("cudnnCreateConvolutionDescriptor", cudnnCreateConvolutionDescriptor(convolution));
    }

    /** Where {@code array} begins on the device. */
    Pointer pointer(INDArray array) {
        return AtomicAllocator.getInstance().getPointer(array, context);
    }

    /**
     * Makes the arrays' contents present on the device, before anything is launched. For arrays that belong to this device, which is
     * nearly always, that is one native call each; ND4J's own preparation makes some twenty, and gives each array a place on the host.
     */
    void prepare(INDArray result, @Nullable INDArray... operands) {
        if (!isHere(result) || !Arrays.stream(operands).allMatch(this::isHere)) {
            AtomicAllocator.getInstance().getFlowController().prepareAction(result, operands);
            return;
        }
        for (INDArray operand : operands) {
            if (operand != null) {
                point(operand).getPtrDataBuffer().syncToSpecial();
            }
        }
    }

    private boolean isHere(@Nullable INDArray array) {
        return array == null || (!array.isCompressed() && point(array).getDeviceId() == device);
    }

    private static AllocationPoint point(INDArray array) {
        return AtomicAllocator.getInstance().getAllocationPoint(array);
    }

    /** Copies all of {@code from} to the beginning of {@code to}, on this stream. */
    void copy(INDArray from, INDArray to) {
        long bytes = from.length() * from.data().getElementSize();
        NativeOps ops = NativeOpsHolder.getInstance().getDeviceNativeOps();
        if (ops.memcpyAsync(pointer(to), pointer(from), bytes, DEVICE_TO_DEVICE, context.getOldStream()) == 0) {
            throw new LayerEngineException(
                    "Copy of " + bytes + " B on the device failed: " + ops.lastErrorMessage() + ".");
        }
    }

    /** Makes {@code bytes} from {@code at} zero, on this stream. */
    void zero(Pointer at, long bytes) {
        NativeOps ops = NativeOpsHolder.getInstance().getDeviceNativeOps();
        if (ops.memsetAsync(at, 0, bytes, 0, context.getOldStream()) == 0) {
            throw new LayerEngineException(
                    "Zeroing of " + bytes + " B on the device failed: " + ops.lastErrorMessage() + ".");
        }
    }

    /** From here on the device's contents of {@code array} are the valid ones. */
    static void written(INDArray array) {
        point(array).tickDeviceWrite();
    }

    /** Whether the thread still runs whose stream this is; ND4J destroys the stream with its thread. */
    boolean isOwnerAlive() {
        Thread thread = owner.get();
        return thread != null && thread.isAlive();
    }

    /** Returns when the stream has done what was launched; the stream of a dead thread has. */
    void await() {
        if (isOwnerAlive()) {
            context.syncOldStream();
        }
    }

    /** @throws LayerEngineException if {@code status} is an error */
    static void check(String call, int status) {
        if (status != 0) {
            throw new LayerEngineException(call + " failed with " + name(status) + " (" + status + ").");
        }
    }

    static String name(int status) {
        return cudnnGetErrorString(status).getString();
    }

    @Override
    public void close() {
        await();
        scratch.close();
        if (plans != null) {
            plans.close();
        }
        cudnnSetStream(handle, null);
        cudnnDestroyConvolutionDescriptor(convolution);
        cudnnDestroyFilterDescriptor(w);
        cudnnDestroyTensorDescriptor(perChannel);
        cudnnDestroyTensorDescriptor(y);
        cudnnDestroyTensorDescriptor(x);
        cudnnDestroy(handle);
    }

    /** Through ND4J's native calls, where recorders and pools see it. */
    private final class DeviceSource implements Scratch.Source {
        private final ScratchHooks hooks;

        private DeviceSource(ScratchHooks hooks) {
            this.hooks = hooks;
        }

        @Override
        public @Nullable Pointer allocate(long bytes) {
            Pointer block = ops().mallocDevice(bytes, device, 0);
            if (block != null && !block.isNull()) {
                hooks.allocated(block.address());
            }
            return block;
        }

        @Override
        public void free(Pointer block) {
            ops().freeDevice(block, device);
        }

        @Override
        public void await() {
            CudnnStream.this.await();
        }

        @Override
        public long spare(long bytes) {
            return hooks.spare(bytes);
        }

        private NativeOps ops() {
            return NativeOpsHolder.getInstance().getDeviceNativeOps();
        }
    }
}
