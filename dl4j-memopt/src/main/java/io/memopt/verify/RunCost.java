// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

/**
 * What one run of a {@link VerifyRun} took.
 *
 * @param peakBytes most bytes that the process reserved at once beyond what was there before the run, the network's own arrays
 *     included; 0 when nobody recorded
 * @param stepMillis median time of an iteration, its data prepared before; the first iterations are left out
 * @param lowerMillis a quarter of the iterations took no longer
 * @param upperMillis a quarter took at least as long
 */
public record RunCost(long peakBytes, double stepMillis, double lowerMillis, double upperMillis) {}
