// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

/**
 * How far one block of parameters is apart after two runs.
 *
 * @param block its name in the network, e.g. {@code 0_W}
 * @param parameters in the block
 * @param differing parameters whose bits differ
 * @param largest absolute difference; infinite when a number is not finite
 * @param relative largest absolute difference by the largest absolute parameter of the block
 */
public record BlockDifference(String block, long parameters, long differing, double largest, double relative) {}
