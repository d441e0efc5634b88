// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;

/**
 * Scratch memory of one stream, shared by all passes on it: they run one after another, so one block of the largest size
 * serves all. Threading: one thread at a time.
 */
final class Scratch implements AutoCloseable {
    /** Where blocks come from. */
    interface Source {
        /** A block of {@code bytes}, or null when there is no memory. */
        @Nullable
        Pointer allocate(long bytes);

        /** Called when nothing uses the block any more. */
        void free(Pointer block);

        /** Returns when the stream is done with the block held. */
        void await();
    }

    private final Source source;
    private @Nullable Pointer block;
    private volatile long bytes;

    Scratch(Source source) {
        this.source = source;
    }

    /**
     * Makes sure that at least {@code needed} bytes are held. A larger block takes the place of the one held, which is given
     * back first: the two never exist together.
     *
     * @return false when there is no memory for it; then nothing is held
     */
    boolean ensure(long needed) {
        if (needed <= bytes) {
            return true;
        }
        release();
        Pointer fresh = source.allocate(needed);
        if (fresh == null || fresh.isNull()) {
            return false;
        }
        block = fresh;
        bytes = needed;
        return true;
    }

    /** Gives back what is more than {@code needed}. */
    void trim(long needed) {
        if (bytes > needed) {
            release();
            if (needed > 0) {
                ensure(needed);
            }
        }
    }

    /** The block, null when none is held. */
    @Nullable
    Pointer block() {
        return block;
    }

    long bytes() {
        return bytes;
    }

    @Override
    public void close() {
        release();
    }

    private void release() {
        Pointer held = block;
        if (held != null) {
            source.await();
            block = null;
            bytes = 0;
            source.free(held);
        }
    }
}
