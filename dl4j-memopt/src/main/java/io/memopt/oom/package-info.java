// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Says why memory ran out. Entry types: {@link io.memopt.oom.PostMortem} for a failure with all that is known of it, {@link
 * io.memopt.oom.ExhaustionReport} for a few lines, {@link io.memopt.oom.Exhaustion} for whether it is one.
 *
 * <p>Imports {@code analysis}, {@code strategy}, {@code allocator.event}, {@code allocator.recording} and Gson.
 */
@NullMarked
package io.memopt.oom;

import org.jspecify.annotations.NullMarked;
