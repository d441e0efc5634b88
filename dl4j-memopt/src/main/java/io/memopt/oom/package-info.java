// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Says in words why memory ran out. Entry type: {@link io.memopt.oom.ExhaustionReport}.
 *
 * <p>Imports {@code analysis}, {@code strategy} and {@code allocator.event}; figures and the way to write sizes are handed
 * in.
 */
@NullMarked
package io.memopt.oom;

import org.jspecify.annotations.NullMarked;
