// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.MemorySpace;

/**
 * One workspace instance: one name on one thread.
 *
 * @param id number of the instance
 * @param circular a ring buffer behind a prefetching iterator
 * @param space where its first block was, {@link MemorySpace#HOST} when it never had one
 * @param endBytes size of its blocks at the end of the trace, in all spaces
 * @param maxBlockBytes largest size of its block
 * @param maxFilledBytes most that arrays filled of it
 * @param neededBytes largest need of one scope, arrays that spilled included, in steps of 32 bytes: a block of this size
 *     would have held everything
 * @param scopes how often it was entered
 * @param spills arrays that did not fit
 * @param resizes blocks after the first
 * @param lastEnteredNanos when it was entered last, its first event if never
 * @param filledShare time-weighted mean of the filled part of the block while there was one, 0..1
 */
public record WorkspaceRow(
        int id,
        String name,
        long threadId,
        String thread,
        boolean circular,
        MemorySpace space,
        long endBytes,
        long maxBlockBytes,
        long maxFilledBytes,
        long neededBytes,
        long scopes,
        long spills,
        long spilledBytes,
        long resizes,
        long lastEnteredNanos,
        double filledShare) {}
