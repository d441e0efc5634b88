// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

/**
 * How far and with what a prefetching iterator reads ahead.
 *
 * @param threads that prepare batches, at least 1; one more reads the base iterator
 * @param maxBatches most batches that are read and not handed out yet, at least 2; how many really are follows from measured
 *     times
 * @param maxBytes most bytes of features, labels and masks in those, at least 1; one batch is always read, however large
 * @param closeUsed true when the arrays of a batch are closed as soon as the next one is asked for, instead of waiting for the
 *     Java garbage collector. Only for base iterators that make new arrays for each batch, and readers that keep none
 * @param readAheadAnyway true to accept a base iterator that says it must not be read ahead, e.g. because all its batches are
 *     in memory already. Wrong for one that fills the same arrays again
 */
public record PrefetchOptions(int threads, int maxBatches, long maxBytes, boolean closeUsed, boolean readAheadAnyway) {
    /** One in preparation, one ready. */
    private static final int MIN_BATCHES = 2;

    private static final int MAX_THREADS = 256;
    private static final int MAX_BATCHES = 65_536;

    /** Two threads, 16 batches, 1 GiB. */
    public static final PrefetchOptions DEFAULTS = new PrefetchOptions(2, 16, 1L << 30, false, false);

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException if a number is out of range
     */
    public PrefetchOptions {
        if (threads < 1 || threads > MAX_THREADS) {
            throw new IllegalArgumentException("threads=" + threads + ", expected 1.." + MAX_THREADS);
        }
        if (maxBatches < MIN_BATCHES || maxBatches > MAX_BATCHES) {
            throw new IllegalArgumentException(
                    "maxBatches=" + maxBatches + ", expected " + MIN_BATCHES + ".." + MAX_BATCHES);
        }
        if (maxBytes < 1) {
            throw new IllegalArgumentException("maxBytes=" + maxBytes + ", expected at least 1");
        }
    }

    public PrefetchOptions withThreads(int value) {
        return new PrefetchOptions(value, maxBatches, maxBytes, closeUsed, readAheadAnyway);
    }

    public PrefetchOptions withMaxBatches(int value) {
        return new PrefetchOptions(threads, value, maxBytes, closeUsed, readAheadAnyway);
    }

    public PrefetchOptions withMaxBytes(long value) {
        return new PrefetchOptions(threads, maxBatches, value, closeUsed, readAheadAnyway);
    }

    public PrefetchOptions withCloseUsed(boolean value) {
        return new PrefetchOptions(threads, maxBatches, maxBytes, value, readAheadAnyway);
    }

    public PrefetchOptions withReadAheadAnyway(boolean value) {
        return new PrefetchOptions(threads, maxBatches, maxBytes, closeUsed, value);
    }

    /**
     * Refuses a base iterator that must not be read ahead, unless these options insist.
     *
     * @throws IllegalArgumentException with its class and what to do
     */
    void requireReadAhead(Object base, boolean asyncSupported) {
        if (!asyncSupported && !readAheadAnyway) {
            throw new IllegalArgumentException(base.getClass().getName()
                    + ".asyncSupported() is false: it may fill the same arrays again, or prefetch "
                    + "itself. If it does neither, use PrefetchOptions.withReadAheadAnyway(true).");
        }
    }
}
