// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Says before training how much memory a network will take, and why. Entry type: {@link io.memopt.fit.MemoryForecast}.
 *
 * <p>Imports {@code allocator}, {@code listeners.training}, Deeplearning4j and ND4J.
 */
@NullMarked
package io.memopt.fit;

import org.jspecify.annotations.NullMarked;
