// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What other allocators would have made of a recorded run: {@link io.memopt.analysis.replay.TraceReplay} plays the arrays of a
 * trace to simulated {@link io.memopt.analysis.replay.AllocatorModel}s and compares what each reserves.
 *
 * <p>May import {@code io.memopt.allocator.event}, {@code .recording}, {@code .plan} and {@code io.memopt.analysis} only.
 */
@NullMarked
package io.memopt.analysis.replay;

import org.jspecify.annotations.NullMarked;
