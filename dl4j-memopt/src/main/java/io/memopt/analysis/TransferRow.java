// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.TransferDirection;
import java.util.OptionalDouble;

/**
 * Copies of one direction. Whether the host side was page-locked, and what ran meanwhile, is not in a trace.
 *
 * @param nanos what callers waited, summed over threads; an asynchronous copy may have gone on
 */
public record TransferRow(TransferDirection direction, long copies, long bytes, long nanos) {

    /** Bytes per second of waiting; absent when none was measured. */
    public OptionalDouble bytesPerSecond() {
        return nanos <= 0 ? OptionalDouble.empty() : OptionalDouble.of(bytes * 1e9 / nanos);
    }
}
