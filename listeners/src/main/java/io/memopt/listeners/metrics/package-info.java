// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Metric names and Micrometer binders.
 *
 * <p>Imports {@code allocator.event}, {@code allocator.pool} and Micrometer.
 */
@NullMarked
package io.memopt.listeners.metrics;

import org.jspecify.annotations.NullMarked;
