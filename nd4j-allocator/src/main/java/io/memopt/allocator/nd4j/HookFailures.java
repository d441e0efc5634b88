// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs what the recorder does inside a call of ND4J. A fault there is ours: it is counted, told once, and never reaches
 * the training that called.
 */
final class HookFailures {
    private static final Logger log = LoggerFactory.getLogger(HookFailures.class);
    private static final AtomicLong count = new AtomicLong();

    private HookFailures() {}

    /** Runs {@code booking} and keeps its exceptions from the caller. */
    static void contain(Runnable booking) {
        try {
            booking.run();
        } catch (RuntimeException | LinkageError e) {
            report(e);
        }
    }

    static void report(Throwable e) {
        if (count.getAndIncrement() == 0) {
            log.warn("The memory recorder failed; training goes on, figures are incomplete from now on.", e);
        } else {
            log.debug("The memory recorder failed again", e);
        }
    }

    /** Faults since the JVM started. */
    static long count() {
        return count.get();
    }
}
