// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A byte budget for training, kept at the least cost in time: {@link io.memopt.strategy.budget.NetworkBudget} decides which of
 * the other strategies a network needs, from passes with a few examples, and says what each would give.
 */
@NullMarked
package io.memopt.strategy.budget;

import org.jspecify.annotations.NullMarked;
