// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.concurrent.atomic.LongAdder;

/** How many passes plans have served, and missed, on all threads since the start. Threading: safe. */
final class PassCounts {
    private final LongAdder served = new LongAdder();
    private final LongAdder missed = new LongAdder();

    void countServed() {
        served.increment();
    }

    void countMissed() {
        missed.increment();
    }

    long served() {
        return served.sum();
    }

    long missed() {
        return missed.sum();
    }
}
