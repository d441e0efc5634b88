// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Reports of what a run needed and where.
 *
 * <p>Imports {@code analysis}, {@code strategy}, {@code oom}, {@code verify} and {@code allocator}.
 */
@NullMarked
package io.memopt.report;

import org.jspecify.annotations.NullMarked;
