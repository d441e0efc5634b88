// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.recording.ByteSize;
import java.util.Locale;

/**
 * What prefetching did. Times are nanoseconds, summed over threads.
 *
 * @param batches handed out
 * @param bytes of features, labels and masks in them
 * @param readNanos the base iterator took
 * @param prepareNanos preparation and preprocessors took
 * @param uploadNanos copies to the device took, waits for the device included
 * @param exposedUploadNanos most of that which the reader can have waited for: for each batch the time of its copies or the time
 *     that it was waited for, whichever is less
 * @param uploadedBytes copied to the device
 * @param waits batches that the reader had to wait for
 * @param waitNanos it waited
 * @param depth batches that may be ahead now; 0 for several iterators together
 * @param aheadBytes in batches that are read and not handed out
 * @param peakAheadBytes most bytes that were ahead at one time
 */
public record PrefetchStatistics(
        long batches,
        long bytes,
        long readNanos,
        long prepareNanos,
        long uploadNanos,
        long exposedUploadNanos,
        long uploadedBytes,
        long waits,
        long waitNanos,
        int depth,
        long aheadBytes,
        long peakAheadBytes) {
    private static final double SECOND = 1e9;
    private static final double PERCENT = 100;

    /** Time that the threads of the iterator worked. */
    public long preparationNanos() {
        return readNanos + prepareNanos + uploadNanos;
    }

    /**
     * Share of {@link #preparationNanos()} that the reader did not wait for, 0 to 1; 1 when nothing was prepared. An iterator
     * without threads would have 0.
     */
    public double hiddenShare() {
        return hidden(preparationNanos(), waitNanos);
    }

    /** Share of {@link #uploadNanos} that the reader did not wait for, 0 to 1, at least; 1 when nothing was copied. */
    public double hiddenUploadShare() {
        return hidden(uploadNanos, exposedUploadNanos);
    }

    /** What was added since {@code earlier} figures of the same iterator; depth, bytes ahead and their peak are those of now. */
    public PrefetchStatistics since(PrefetchStatistics earlier) {
        return new PrefetchStatistics(
                batches - earlier.batches,
                bytes - earlier.bytes,
                readNanos - earlier.readNanos,
                prepareNanos - earlier.prepareNanos,
                uploadNanos - earlier.uploadNanos,
                exposedUploadNanos - earlier.exposedUploadNanos,
                uploadedBytes - earlier.uploadedBytes,
                waits - earlier.waits,
                waitNanos - earlier.waitNanos,
                depth,
                aheadBytes,
                peakAheadBytes);
    }

    private static double hidden(long nanos, long exposedNanos) {
        return nanos <= 0 ? 1 : Math.max(0, 1 - (double) exposedNanos / nanos);
    }

    /** One line, with the share that was hidden first. */
    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "prefetch: %.1f %% of %.3f s preparation hidden (read %.3f s, prepared %.3f s, copied %s in %.3f s), "
                        + "%s of %s, %s of %.3f s, %speak %s ahead",
                PERCENT * hiddenShare(),
                preparationNanos() / SECOND,
                readNanos / SECOND,
                prepareNanos / SECOND,
                ByteSize.scaled(uploadedBytes),
                uploadNanos / SECOND,
                Count.of(batches, "batch"),
                ByteSize.scaled(batches == 0 ? 0 : bytes / batches),
                Count.of(waits, "wait"),
                waitNanos / SECOND,
                depth == 0 ? "" : "depth " + depth + ", ",
                ByteSize.scaled(peakAheadBytes));
    }
}
