// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

/**
 * Copies between a device and page-locked memory of the host, beside what the device computes: one lane for each direction. Copies
 * of a lane run in the order in which they were begun, those of different lanes in any.
 *
 * <pre>
 *   computing   | makes x |      ...      | hold(back) | reads x |
 *   to host               | x leaves |
 *   to device                        | x comes back |
 * </pre>
 *
 * A copy begins when the device is through with all that the calling thread had given it by then, so that nothing is copied before it
 * is computed, and nothing is written over before it was read. What the thread gives it later does not wait unless told to, by {@link
 * #hold}. A copy is a number until it is forgotten.
 *
 * <p>Threading: safe. "Computing" is that of the calling thread.
 */
public interface CopyLanes {
    /** Stands for a copy that is done. */
    long NONE = 0;

    /**
     * Begins a copy to the host.
     *
     * @param device address on the device
     * @param host address in page-locked memory
     * @param bytes at least 1
     * @param after other copies that must be done before; {@link #NONE} among them says nothing
     * @return the copy
     * @throws MemorySourceException if the device refuses
     */
    long toHost(long device, long host, long bytes, long... after);

    /** As {@link #toHost} in the other direction. */
    long toDevice(long host, long device, long bytes, long... after);

    /** What the calling thread gives the device from now on waits for {@code copy}. Does not block. */
    void hold(long copy);

    /** Nobody asks for {@code copy} again; it runs on. */
    void forget(long copy);

    /** What was copied so far. */
    CopyFigures figures();
}
