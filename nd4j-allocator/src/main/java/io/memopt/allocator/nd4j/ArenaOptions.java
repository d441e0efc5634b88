// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.time.Duration;

/**
 * When arenas give bytes back.
 *
 * @param trimAfter regions in a row that need less than three quarters of an arena before it shrinks, at least 1
 * @param releaseIdleAfter time without an open scope after which a thread's arena is given back until it is needed again, at most a
 *     year; zero for never
 */
public record ArenaOptions(int trimAfter, Duration releaseIdleAfter) {
    /** 256 regions: an evaluation of some minibatches between epochs costs no block. */
    public static final int DEFAULT_TRIM_AFTER = 256;

    private static final Duration MOST_IDLE = Duration.ofDays(365);

    /** Idle threads keep their arenas. */
    public static final ArenaOptions DEFAULTS = new ArenaOptions(DEFAULT_TRIM_AFTER, Duration.ZERO);

    public ArenaOptions {
        if (trimAfter < 1) {
            throw new IllegalArgumentException("trimAfter=" + trimAfter + ", expected at least 1");
        }
        if (releaseIdleAfter.isNegative() || releaseIdleAfter.compareTo(MOST_IDLE) > 0) {
            throw new IllegalArgumentException("releaseIdleAfter=" + releaseIdleAfter + ", expected 0 to " + MOST_IDLE);
        }
    }
}
