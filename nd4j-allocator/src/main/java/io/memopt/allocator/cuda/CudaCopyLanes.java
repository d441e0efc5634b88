// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.bytedeco.cuda.global.cudart.CU_STREAM_NON_BLOCKING;
import static org.bytedeco.cuda.global.cudart.cuMemcpyAsync;
import static org.bytedeco.cuda.global.cudart.cuStreamCreate;

import io.memopt.allocator.pool.CopyFigures;
import io.memopt.allocator.pool.CopyLanes;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.nd4j.jita.allocator.impl.AtomicAllocator;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Lanes of a CUDA device: two streams that the legacy default stream does not wait for, since ND4J's small synchronous copies go there.
 * Computing is the stream on which ND4J launches the operations of the calling thread. Those of a device are opened once and kept until
 * the JVM ends, as its context is.
 */
public final class CudaCopyLanes implements CopyLanes {
    private static final ConcurrentHashMap<Integer, CudaCopyLanes> OPEN = new ConcurrentHashMap<>();

    private final CudaDevice device;
    private final CudaEvents events;
    private final StreamWaits waits;
    private final long out;
    private final long in;
    private CopyFigures figures = CopyFigures.NONE;

    private CudaCopyLanes(int number) {
        this.device = new CudaDevice(number);
        this.events = new CudaEvents(device);
        this.waits = new StreamWaits(device);
        this.out = device.call(CudaCopyLanes::stream);
        this.in = device.call(CudaCopyLanes::stream);
    }

    /**
     * Those of the device that the calling thread works with.
     *
     * @throws io.memopt.allocator.pool.MemorySourceException if there is no such device, or no driver
     */
    public static CudaCopyLanes ofThread() {
        int number = Nd4j.getAffinityManager().getDeviceForCurrentThread();
        return OPEN.computeIfAbsent(number, CudaCopyLanes::new);
    }

    /** What was copied so far on all devices. */
    public static CopyFigures figuresOfAll() {
        return OPEN.values().stream().map(CudaCopyLanes::figures).reduce(CopyFigures.NONE, CopyFigures::plus);
    }

    private static long stream() {
        CUstream_st stream = new CUstream_st();
        CudaDriver.check("cuStreamCreate", cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
        return stream.address();
    }

    @Override
    public synchronized long toHost(long from, long host, long bytes, long... after) {
        long copy = copy(out, from, host, bytes, after);
        figures = figures.leaving(bytes);
        return copy;
    }

    @Override
    public synchronized long toDevice(long host, long to, long bytes, long... after) {
        long copy = copy(in, host, to, bytes, after);
        figures = figures.arriving(bytes);
        return copy;
    }

    private long copy(long lane, long from, long to, long bytes, long... after) {
        long given = events.record(computing());
        events.follow(lane, given);
        events.discard(given);
        for (long other : after) {
            if (other != NONE) {
                events.follow(lane, other);
            }
        }
        device.run(() -> CudaDriver.check(
                "cuMemcpyAsync of " + bytes + " B", cuMemcpyAsync(to, from, bytes, CudaEvents.handle(lane))));
        return events.record(lane);
    }

    @Override
    public synchronized void hold(long copy) {
        if (copy != NONE && !events.isDone(copy)) {
            long stream = computing();
            waits.around(stream, () -> events.follow(stream, copy));
            figures = figures.waiting();
        }
    }

    @Override
    public void forget(long copy) {
        if (copy != NONE) {
            events.discard(copy);
        }
    }

    @Override
    public synchronized CopyFigures figures() {
        return figures.waited(waits.nanos());
    }

    private static long computing() {
        return AtomicAllocator.getInstance()
                .getDeviceContext()
                .getCublasStream()
                .address();
    }
}
