// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What happens when memory runs out in training. {@link io.memopt.guard.MemoryGuard} writes down why, finds out what would fit and
 * has the iteration done again that way; {@link io.memopt.guard.HeadroomWatch} warns before.
 *
 * <p>Imports {@code oom}, {@code strategy}, {@code fit}, {@code analysis}, {@code listeners} and {@code allocator}.
 */
@NullMarked
package io.memopt.guard;

import org.jspecify.annotations.NullMarked;
