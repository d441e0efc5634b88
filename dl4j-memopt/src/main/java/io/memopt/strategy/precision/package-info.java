// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Mixed precision: gradients are computed by a copy of the network in half precision, parameters and updater state stay in single
 * precision. {@link io.memopt.strategy.precision.MixedPass} computes gradients that way.
 */
@NullMarked
package io.memopt.strategy.precision;

import org.jspecify.annotations.NullMarked;
