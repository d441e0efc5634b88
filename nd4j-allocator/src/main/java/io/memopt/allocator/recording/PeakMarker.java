// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

/** Keeps the largest moment offered. Threading: reads never wait; offers take a monitor, and are rare after warm-up. */
final class PeakMarker {
    private volatile PeakMoment largest = PeakMoment.NONE;

    PeakMoment get() {
        return largest;
    }

    synchronized void offer(PeakMoment moment) {
        if (moment.bytes() > largest.bytes()) {
            largest = moment;
        }
    }
}
