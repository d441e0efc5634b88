// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

/** How a pool gets more memory from its source, and gives it back. Adds what it gets to the list of ready blocks. */
interface Growth {
    /**
     * Makes sure that a ready block of {@code bytes} exists.
     *
     * @param livePeak the most bytes that were live so far, those asked for included
     * @return false when the limit is reached or the device has no more
     */
    boolean grow(long bytes, long livePeak);

    /** Gives back ready memory until at most {@code keepBytes} are ready, as far as whole pages or segments allow. */
    void shrink(long keepBytes);

    /** Held from the source. */
    long reservedBytes();

    /** Gives everything back; nothing may be handed out any more. */
    void close();
}
