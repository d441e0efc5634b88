// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Running figures of an iterator, or of all of them. Threading: any thread; sums are exact once writers rest.
 */
final class Counts {
    private final @Nullable Counts parent;
    private final LongAdder batches = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private final LongAdder readNanos = new LongAdder();
    private final LongAdder prepareNanos = new LongAdder();
    private final LongAdder uploadNanos = new LongAdder();
    private final LongAdder exposedUploadNanos = new LongAdder();
    private final LongAdder uploadedBytes = new LongAdder();
    private final LongAdder waits = new LongAdder();
    private final LongAdder waitNanos = new LongAdder();
    private final AtomicLong aheadBytes = new AtomicLong();
    private final AtomicLong peakAheadBytes = new AtomicLong();

    /** What is counted here is counted in {@code parent}, too. */
    Counts(@Nullable Counts parent) {
        this.parent = parent;
    }

    void read(long nanos) {
        readNanos.add(nanos);
        if (parent != null) {
            parent.read(nanos);
        }
    }

    void prepared(long nanos) {
        prepareNanos.add(nanos);
        if (parent != null) {
            parent.prepared(nanos);
        }
    }

    void uploaded(long copied, long nanos) {
        uploadedBytes.add(copied);
        uploadNanos.add(nanos);
        if (parent != null) {
            parent.uploaded(copied, nanos);
        }
    }

    /** A batch whose copies took {@code copyNanos} was waited for. */
    void waited(long nanos, long copyNanos) {
        waits.increment();
        waitNanos.add(nanos);
        exposedUploadNanos.add(Math.min(nanos, copyNanos));
        if (parent != null) {
            parent.waited(nanos, copyNanos);
        }
    }

    void handedOut(long batchBytes) {
        batches.increment();
        bytes.add(batchBytes);
        if (parent != null) {
            parent.handedOut(batchBytes);
        }
    }

    /** {@code change} bytes more, or fewer, are ahead. */
    void ahead(long change) {
        long now = aheadBytes.addAndGet(change);
        peakAheadBytes.accumulateAndGet(now, Math::max);
        if (parent != null) {
            parent.ahead(change);
        }
    }

    PrefetchStatistics now(int depth) {
        return new PrefetchStatistics(
                batches.sum(),
                bytes.sum(),
                readNanos.sum(),
                prepareNanos.sum(),
                uploadNanos.sum(),
                exposedUploadNanos.sum(),
                uploadedBytes.sum(),
                waits.sum(),
                waitNanos.sum(),
                depth,
                aheadBytes.get(),
                peakAheadBytes.get());
    }
}
