// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.bytedeco.cuda.global.cudart.CU_EVENT_DEFAULT;
import static org.bytedeco.cuda.global.cudart.cuEventCreate;
import static org.bytedeco.cuda.global.cudart.cuEventElapsedTime;
import static org.bytedeco.cuda.global.cudart.cuEventQuery;
import static org.bytedeco.cuda.global.cudart.cuEventRecord;

import java.util.ArrayDeque;
import org.bytedeco.cuda.cudart.CUevent_st;

/**
 * How long streams of a device waited, by the device's own clock: an event is recorded before each wait and one behind it. Waits that
 * the device has not come to yet count later. Bounded: of more than {@value #MOST} such waits, further ones are not measured.
 *
 * <p>Threading: safe, under one lock.
 */
final class StreamWaits {
    private static final int MOST = 256;
    private static final double NANOS_PER_MILLI = 1e6;

    private final CudaDevice device;
    private final ArrayDeque<Wait> open = new ArrayDeque<>();
    private final ArrayDeque<Wait> unused = new ArrayDeque<>();
    private long nanos;

    StreamWaits(CudaDevice device) {
        this.device = device;
    }

    private record Wait(CUevent_st before, CUevent_st behind) {}

    /** Runs {@code wait}, which lets {@code stream} wait. */
    synchronized void around(long stream, Runnable wait) {
        look();
        if (open.size() == MOST) {
            wait.run();
            return;
        }
        Wait measured = unused.isEmpty() ? device.call(StreamWaits::create) : unused.removeFirst();
        record(measured.before(), stream);
        wait.run();
        record(measured.behind(), stream);
        open.addLast(measured);
    }

    /** Time waited so far. */
    synchronized long nanos() {
        look();
        return nanos;
    }

    private void look() {
        while (!open.isEmpty() && cuEventQuery(open.getFirst().behind()) == CudaDriver.SUCCESS) {
            Wait done = open.removeFirst();
            float[] millis = new float[1];
            CudaDriver.check("cuEventElapsedTime", cuEventElapsedTime(millis, done.before(), done.behind()));
            nanos += (long) (millis[0] * NANOS_PER_MILLI);
            unused.addLast(done);
        }
    }

    private void record(CUevent_st event, long stream) {
        device.run(() -> CudaDriver.check("cuEventRecord", cuEventRecord(event, CudaEvents.handle(stream))));
    }

    private static Wait create() {
        CUevent_st before = new CUevent_st();
        CUevent_st behind = new CUevent_st();
        CudaDriver.check("cuEventCreate", cuEventCreate(before, CU_EVENT_DEFAULT));
        CudaDriver.check("cuEventCreate", cuEventCreate(behind, CU_EVENT_DEFAULT));
        return new Wait(before, behind);
    }
}
