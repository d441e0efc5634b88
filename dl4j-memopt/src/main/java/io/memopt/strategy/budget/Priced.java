// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

/**
 * A way to train and what it takes at most.
 *
 * @param bytes with everything that the budget counts
 */
record Priced(Way way, long bytes) {}
