// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The scrape endpoint for Prometheus.
 *
 * <p>Imports {@code metrics}, Micrometer and the Prometheus client.
 */
@NullMarked
package io.memopt.listeners.prometheus;

import org.jspecify.annotations.NullMarked;
