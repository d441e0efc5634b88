// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.nio.ByteBuffer;
import org.bytedeco.javacpp.BytePointer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Compares arrays bit for bit: NaN equals the same NaN, and 0 does not equal -0. */
public final class ArrayBits {
    private static final long CHUNK = 1 << 30;

    private ArrayBits() {}

    /**
     * Whether both hold the same bits.
     *
     * @param a a dense array that begins its buffer's view, of any type
     * @param b the same type and length
     */
    public static boolean equal(INDArray a, INDArray b) {
        long bytes = a.length() * a.data().getElementSize();
        if (a.dataType() != b.dataType() || a.length() != b.length()) {
            return false;
        }
        return Nd4jFacts.isCuda() ? DeviceBits.equal(a, b, bytes) : equalOnHost(a, b, bytes);
    }

    private static boolean equalOnHost(INDArray a, INDArray b, long bytes) {
        for (long from = 0; from < bytes; from += CHUNK) {
            long size = Math.min(CHUNK, bytes - from);
            if (bytes(a, from, size).mismatch(bytes(b, from, size)) >= 0) {
                return false;
            }
        }
        return true;
    }

    private static ByteBuffer bytes(INDArray array, long from, long size) {
        long offset = array.offset() * array.data().getElementSize();
        return new BytePointer(array.data().pointer())
                .position(offset + from)
                .limit(offset + from + size)
                .asByteBuffer();
    }
}
