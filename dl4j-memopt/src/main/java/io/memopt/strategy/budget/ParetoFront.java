// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Picks what is worth choosing. */
final class ParetoFront {
    private ParetoFront() {}

    /** Rows of which no other takes less memory without taking more time, least memory first. */
    static List<BudgetRow> of(List<BudgetRow> rows) {
        List<BudgetRow> sorted = new ArrayList<>(rows);
        sorted.sort(Comparator.comparingLong(BudgetRow::peakBytes)
                .thenComparingDouble(BudgetRow::stepMillis)
                .thenComparing(BudgetRow::reuse));
        List<BudgetRow> front = new ArrayList<>();
        double least = Double.MAX_VALUE;
        for (BudgetRow row : sorted) {
            if (row.stepMillis() < least) {
                front.add(row);
                least = row.stepMillis();
            }
        }
        return front;
    }
}
