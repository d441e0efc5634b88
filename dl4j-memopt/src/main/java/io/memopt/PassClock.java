// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

/**
 * When passes ended, in bounded memory: every pass at first, every second one once there are {@value #KEPT} of them, and so on.
 * Threading: safe.
 */
final class PassClock {
    static final int KEPT = 512;

    /** {@code ends[i]}: when pass {@code (i + 1) * stride} ended, as {@link System#nanoTime()}. */
    private final long[] ends = new long[KEPT];

    private int known;
    private long stride = 1;
    private long passes;

    /** One more ended at {@code nanos}. */
    synchronized void passEnded(long nanos) {
        passes++;
        if (passes % stride == 0) {
            ends[known++] = nanos;
            if (known == KEPT) {
                halve();
            }
        }
    }

    private void halve() {
        known /= 2;
        for (int i = 0; i < known; i++) {
            ends[i] = ends[2 * i + 1];
        }
        stride *= 2;
    }

    synchronized long passes() {
        return passes;
    }

    /** Passes that had ended at {@code nanos}, rounded down to what is known. */
    synchronized long passesBefore(long nanos) {
        int low = 0;
        int high = known;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (ends[middle] - nanos <= 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low * stride;
    }
}
