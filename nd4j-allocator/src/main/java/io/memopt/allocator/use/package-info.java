// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * When arrays are used, and which are used too late. {@link io.memopt.allocator.use.UseBook} is the entry: hooks tell it of
 * births, uses and ends; it tells the ledger the last use of each array, {@link io.memopt.allocator.use.UseWindow} the
 * lifetimes of one iteration, and {@link io.memopt.allocator.use.ScopeCheck} what was read after its end.
 *
 * <p>Imports {@code event} and {@code recording}.
 */
@NullMarked
package io.memopt.allocator.use;

import org.jspecify.annotations.NullMarked;
