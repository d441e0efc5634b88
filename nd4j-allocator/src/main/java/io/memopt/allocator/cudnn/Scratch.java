// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;

/**
 * Scratch memory of one stream, shared by all passes on it: they run one after another, so one block of the largest size
 * serves all, and none is needed where something else has bytes to spare. Threading: one thread at a time.
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

        /** See {@link ScratchHooks#spare}. */
        long spare(long bytes);
    }

    /** No memory. */
    static final long NONE = -1;

    /** Requests in a row, some steps' worth, that do without the block before it is given back; at once when spare bytes come into being. */
    static final int PATIENCE = 1024;

    private final Source source;
    private @Nullable Pointer block;
    private volatile long bytes;
    /** The most that was asked of the block, trials apart. */
    private long needed;

    private long most = Long.MAX_VALUE;
    private int spared;
    private boolean wasAlone;
    private boolean trying;

    Scratch(Source source) {
        this.source = source;
    }

    /**
     * Address of {@code wanted} bytes for what is launched next: such as nobody else uses now, or in the block. A larger block
     * takes the place of the one held, which is given back first: the two never exist together.
     *
     * @return 0 for no bytes, {@link #NONE} when there is no memory for it; then no block is held
     */
    long place(long wanted) {
        if (wanted == 0) {
            return 0;
        }
        long spare = source.spare(wanted);
        boolean alone = spare == ScratchHooks.NOBODY;
        spared = spare > 0 ? spared + 1 : 0;
        if ((wasAlone && !alone) || spared == PATIENCE) {
            needed = 0;
            release();
        }
        wasAlone = alone;
        if (spare > 0) {
            return spare;
        }
        needed = trying ? needed : Math.max(needed, wanted);
        return ensure(wanted) && block != null ? block.address() : NONE;
    }

    private boolean ensure(long wanted) {
        if (wanted <= bytes) {
            return true;
        }
        release();
        Pointer fresh = source.allocate(wanted);
        if (fresh == null || fresh.isNull()) {
            return false;
        }
        block = fresh;
        bytes = wanted;
        return true;
    }

    /** What is asked for from now on is tried only. */
    void beginTrials() {
        trying = true;
    }

    /** Gives back what only trials needed. */
    void endTrials() {
        trying = false;
        if (bytes > needed) {
            release();
        }
    }

    /** The block should have at most so many bytes from now on, see {@link #hasRoom}; it is given back, and what it was needed for forgotten. */
    void limit(long blockBytes) {
        most = blockBytes;
        needed = 0;
        release();
    }

    /** Whether {@code wanted} bytes are spare or within the limit of the block. */
    boolean hasRoom(long wanted) {
        return wanted <= most || source.spare(wanted) > 0;
    }

    /** Bytes of the block. */
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
