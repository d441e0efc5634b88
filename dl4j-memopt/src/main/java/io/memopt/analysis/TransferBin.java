// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.TransferDirection;

/**
 * Copies of one direction that ended in {@code [fromNanos, toNanos)}.
 *
 * @param nanos what callers waited for them
 */
public record TransferBin(
        TransferDirection direction, long fromNanos, long toNanos, long copies, long bytes, long nanos) {}
