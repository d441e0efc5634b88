// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Where to put buffers whose lifetimes are known: {@link io.memopt.allocator.plan.MemoryPlanner} turns a
 * {@link io.memopt.allocator.plan.PlanProblem} into offsets, a height and a certificate of how good that is.
 *
 * <p>Imports nothing beyond the JDK and JSpecify.
 */
@NullMarked
package io.memopt.allocator.plan;

import org.jspecify.annotations.NullMarked;
