// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

/**
 * How many batches must be ahead so that the reader need not wait. A batch that takes {@code s} to prepare, with one wanted
 * every {@code t}, must be begun {@code s / t} batches before (Little, A Proof for the Queuing Formula: L = λW, Operations
 * Research 9(3), 1961, doi:10.1287/opre.9.3.383); one more is ready meanwhile. {@code s} is a slowly fading maximum, because
 * the slow batches are those waited for; {@code t} is a moving mean.
 *
 * <p>More than that only holds memory: a reader faster than all threads together waits at any depth.
 *
 * <p>Threading: safe.
 */
final class DepthRule {
    /** Until both times are known: one being prepared, one ready. */
    private static final int FIRST_DEPTH = 2;
    /** The maximum halves in some 45 batches, and the mean has seen the latest 8 or so. */
    private static final double FADE = 1 - 1.0 / 64;

    private static final double MEAN_WEIGHT = 1.0 / 8;

    private final int maxDepth;
    private double slowestNanos;
    private double intervalNanos = -1;

    /** Depths up to {@code maxDepth}, at least 2. */
    DepthRule(int maxDepth) {
        this.maxDepth = maxDepth;
    }

    /** Threads worked {@code nanos} for a batch; waiting for a thread not included. */
    synchronized void prepared(long nanos) {
        slowestNanos = Math.max((double) nanos, slowestNanos * FADE);
    }

    /** Between two batches the reader was busy for {@code nanos}; its waiting not included. */
    synchronized void consumed(long nanos) {
        intervalNanos = intervalNanos < 0 ? nanos : intervalNanos + MEAN_WEIGHT * (nanos - intervalNanos);
    }

    /** Batches to hold ahead, 2 to the maximum. */
    synchronized int depth() {
        if (intervalNanos < 0) {
            return FIRST_DEPTH;
        }
        double begun = Math.ceil(slowestNanos / Math.max(1, intervalNanos));
        return (int) Math.max(FIRST_DEPTH, Math.min(maxDepth, 1 + begun));
    }
}
