// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Bytes of one array for another that is born after its last use. {@link io.memopt.allocator.reuse.ArenaPlan} says where
 * each array of a repeated stretch of work lies, {@link io.memopt.allocator.reuse.PlanCursor} serves it.
 *
 * <p>Imports {@code plan} and {@code use}.
 */
@NullMarked
package io.memopt.allocator.reuse;

import org.jspecify.annotations.NullMarked;
