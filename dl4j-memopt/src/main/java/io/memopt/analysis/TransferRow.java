// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.TransferDirection;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * Copies of one direction.
 *
 * @param nanos what callers waited, summed over threads; an asynchronous copy may have gone on
 * @param overlappedBytes those copied by a thread that was in no phase of a network while another thread was in one: at least
 *     these bytes did not hold up computing. What went on beside a copy of the computing thread is not in a trace
 * @param pinnedBytes those whose end in host memory is page-locked, so that the driver needed no staging buffer; absent for
 *     copies inside the device, and when the trace does not tell it of every copy
 */
public record TransferRow(
        TransferDirection direction,
        long copies,
        long bytes,
        long nanos,
        long overlappedBytes,
        OptionalLong pinnedBytes) {

    /** Bytes per second of waiting; absent when none was measured. */
    public OptionalDouble bytesPerSecond() {
        return nanos <= 0 ? OptionalDouble.empty() : OptionalDouble.of(bytes * 1e9 / nanos);
    }

    /** Share of the bytes in {@link #overlappedBytes()}. */
    public double overlappedShare() {
        return bytes == 0 ? 0 : (double) overlappedBytes / bytes;
    }
}
