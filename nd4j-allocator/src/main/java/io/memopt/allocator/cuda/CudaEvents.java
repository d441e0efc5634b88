// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.bytedeco.cuda.global.cudart.CU_EVENT_DISABLE_TIMING;
import static org.bytedeco.cuda.global.cudart.cuEventCreate;
import static org.bytedeco.cuda.global.cudart.cuEventQuery;
import static org.bytedeco.cuda.global.cudart.cuEventRecord;
import static org.bytedeco.cuda.global.cudart.cuEventSynchronize;
import static org.bytedeco.cuda.global.cudart.cuStreamWaitEvent;

import io.memopt.allocator.pool.StreamEvents;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;

/**
 * Events of one device. A stream is its CUDA handle as a number. {@link StreamEvents#EVERY_STREAM} is the legacy default
 * stream, which waits for all streams of the context but those made as non-blocking; ND4J makes none of these.
 *
 * <p>Events are used again after they were discarded; there are as many as ever waited at the same time. Only recording needs the
 * device's context: events know their own.
 *
 * <p>Threading: safe, under one lock; {@link #await} holds it.
 */
final class CudaEvents implements StreamEvents {
    private final CudaDevice device;
    private final Map<Long, CUevent_st> recorded = new HashMap<>();
    private final ArrayDeque<CUevent_st> unused = new ArrayDeque<>();

    CudaEvents(CudaDevice device) {
        this.device = device;
    }

    @Override
    public synchronized long record(long stream) {
        return device.call(() -> {
            CUevent_st event = unused.isEmpty() ? create() : unused.removeFirst();
            CudaDriver.check("cuEventRecord", cuEventRecord(event, handle(stream)));
            recorded.put(event.address(), event);
            return event.address();
        });
    }

    @Override
    public synchronized boolean isDone(long event) {
        int result = cuEventQuery(known(event));
        if (result == CudaDriver.NOT_READY) {
            return false;
        }
        CudaDriver.check("cuEventQuery", result);
        return true;
    }

    @Override
    public synchronized void await(long event) {
        CudaDriver.check("cuEventSynchronize", cuEventSynchronize(known(event)));
    }

    @Override
    public synchronized void discard(long event) {
        unused.addLast(known(event));
        recorded.remove(event);
    }

    /** What {@code stream} is given from now on waits for {@code event}, as it is marked now. */
    synchronized void follow(long stream, long event) {
        CUevent_st marked = known(event);
        device.run(() -> CudaDriver.check("cuStreamWaitEvent", cuStreamWaitEvent(handle(stream), marked, 0)));
    }

    private CUevent_st known(long event) {
        CUevent_st known = recorded.get(event);
        if (known == null) {
            throw new IllegalArgumentException("event=" + event + " was not recorded here or is discarded");
        }
        return known;
    }

    private static CUevent_st create() {
        CUevent_st event = new CUevent_st();
        CudaDriver.check("cuEventCreate", cuEventCreate(event, CU_EVENT_DISABLE_TIMING));
        return event;
    }

    static @Nullable CUstream_st handle(long stream) {
        return stream == EVERY_STREAM ? null : new CUstream_st(new Address(stream));
    }

    /** A pointer to a given address. */
    private static final class Address extends Pointer {
        Address(long value) {
            address = value;
        }
    }
}
