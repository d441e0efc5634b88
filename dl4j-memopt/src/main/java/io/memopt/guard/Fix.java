// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.strategy.step.StepOptions;
import java.util.OptionalLong;

/**
 * A way to do an iteration again.
 *
 * @param name in words
 * @param options how gradients are computed
 * @param peakBytes what is predicted to be held at most; absent when only trying tells
 * @param exactness {@code BITWISE} or {@code REORDERED}
 */
record Fix(String name, StepOptions options, OptionalLong peakBytes, String exactness) {}
