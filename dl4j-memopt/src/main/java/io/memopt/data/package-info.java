// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Iterators that prepare batches on threads of their own while training computes. {@link
 * io.memopt.data.PrefetchDataSetIterator} and {@link io.memopt.data.PrefetchMultiDataSetIterator} are the entries.
 *
 * <p>Exactness {@code BITWISE}: the same batches in the same order.
 *
 * <p>Imports {@code allocator} and ND4J.
 */
@NullMarked
package io.memopt.data;

import org.jspecify.annotations.NullMarked;
