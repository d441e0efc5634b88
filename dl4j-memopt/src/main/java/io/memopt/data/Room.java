// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

/**
 * Where batches that are ahead are counted; the thread that reads waits here. Bytes of a batch are known only when it is read,
 * so another one is let in when the largest so far would fit.
 *
 * <p>Threading: safe.
 */
final class Room {
    private final long maxBytes;
    private final Counts counts;
    private int depth;
    private int batches;
    private long bytes;
    private long largest;
    private boolean sizeKnown;
    private boolean closed;

    /** Empty, for {@code depth} batches of together {@code maxBytes}. */
    Room(int depth, long maxBytes, Counts counts) {
        this.depth = depth;
        this.maxBytes = maxBytes;
        this.counts = counts;
    }

    /**
     * Waits until there is room for one more batch, and takes it.
     *
     * @return false when the room is closed
     */
    synchronized boolean enter() throws InterruptedException {
        while (!closed && !fits()) {
            wait();
        }
        if (!closed) {
            batches++;
        }
        return !closed;
    }

    /** A batch has {@code after} bytes where it had {@code before}: it was read, or prepared. */
    synchronized void resized(long before, long after) {
        bytes += after - before;
        largest = Math.max(largest, after);
        counts.ahead(after - before);
    }

    /** The first batch is ready, so its size is known; until then it is alone. */
    synchronized void prepared() {
        sizeKnown = true;
        notifyAll();
    }

    /** A batch of {@code its} bytes was handed out or given up. */
    synchronized void leave(long its) {
        batches--;
        bytes -= its;
        counts.ahead(-its);
        notifyAll();
    }

    synchronized void depth(int value) {
        depth = value;
        notifyAll();
    }

    /** Lets nobody in any more. */
    synchronized void close() {
        closed = true;
        notifyAll();
    }

    private boolean fits() {
        return batches == 0 || (sizeKnown && batches < depth && bytes + largest <= maxBytes);
    }
}
