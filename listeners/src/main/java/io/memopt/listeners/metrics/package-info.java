// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Metric names and Micrometer binders. Start at {@link io.memopt.listeners.metrics.MemoptMetrics}; the training listener
 * reports to {@link io.memopt.listeners.metrics.TrainingTimers}.
 *
 * <p>Imports {@code allocator.event}, {@code allocator.recording} and Micrometer.
 */
@NullMarked
package io.memopt.listeners.metrics;

import org.jspecify.annotations.NullMarked;
