// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import java.util.Optional;

/**
 * Detached arrays of one owner, not part of a network, that were live at the end of the trace. Whether Java code still
 * reaches them is not in a trace: the collector may only not have come by yet.
 *
 * @param arrays how many
 * @param oldestNanos age of the oldest at the end of the trace
 * @param medianNanos age that half of them exceed
 * @param site code that made most of the owner's detached bytes; empty when unknown
 * @param viewedBytes bytes of those arrays that had live views at the end of the recording: a view keeps the whole array
 * @param growth how the owner's bytes grew, if steps were recorded
 */
public record LeakSuspect(
        Owner owner,
        MemorySpace space,
        long arrays,
        long bytes,
        long oldestNanos,
        long medianNanos,
        String site,
        long viewedBytes,
        Optional<Growth> growth) {}
