// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.recording.ByteSize;
import java.lang.ref.Cleaner;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Buffers in page-locked memory of the host. On CUDA the host's place of such a buffer and the device's are one: operations work on it
 * over the bus, and ND4J's copies between the two are of a place to itself. Freed when nobody can reach the buffer any more.
 *
 * <p>Threading: safe.
 */
public final class PinnedBuffers {
    private static final Cleaner CLEANER = Cleaner.create();

    private PinnedBuffers() {}

    /**
     * Room for {@code length} elements, all zero.
     *
     * @throws IllegalStateException if the system has no such memory
     */
    public static DataBuffer create(DataType type, long length) {
        long bytes = length * type.width();
        PinnedBlock block = PinnedBlock.of(bytes)
                .orElseThrow(() -> new IllegalStateException("No " + ByteSize.format(bytes)
                        + " of page-locked memory could be had. Free page-locked memory, or leave out what needs it."));
        Pointer.memset(block.pointer(), 0, block.bytes());
        // Its typed pointer, and the index that reads single elements, take their lengths from that of this one.
        BytePointer room = new BytePointer(block.pointer()).capacity(block.bytes());
        DataBuffer buffer = Nd4jFacts.isCuda()
                ? Nd4j.createBuffer(room, block.pointer(), length, type)
                : Nd4j.createBuffer(room, length, type);
        ArrayPlace.written(buffer);
        CLEANER.register(buffer, block::close);
        return buffer;
    }
}
