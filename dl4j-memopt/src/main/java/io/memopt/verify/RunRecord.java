// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.use.ScopeFinding;
import io.memopt.analysis.Advice;
import io.memopt.analysis.Peak;
import java.util.List;
import java.util.Optional;

/**
 * Everything that assertions look at.
 *
 * @param name name of the network in figures
 * @param description what the network is
 * @param flatBytes flat arrays from before the run, which {@code peak} does not include
 * @param peak composition of the reserved peak, if anything was reserved
 * @param peakIteration iteration from 0 in which it was
 * @param used composition of the largest sum of arrays: what the blocks are that large for
 * @param usedIteration iteration in which that was
 * @param taken allocations after the warm-up, largest first
 * @param garbage those of them that were left to the collector, largest first
 * @param growth who holds more at the end than after the warm-up
 * @param staleReads arrays used after their scope, most frequent first; empty when that was not checked
 * @param advice what the analysis of the run proposes, best first
 */
record RunRecord(
        String name,
        String description,
        MemoryFigures figures,
        long flatBytes,
        Optional<Peak> peak,
        int peakIteration,
        Optional<Peak> used,
        int usedIteration,
        List<Span> taken,
        List<Span> garbage,
        List<HeldMemory.Growth> growth,
        Optional<List<ScopeFinding>> staleReads,
        List<Advice> advice) {}
