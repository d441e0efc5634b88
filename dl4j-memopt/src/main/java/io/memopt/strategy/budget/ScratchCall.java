// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.cudnn.ConvolutionAlgorithm;
import io.memopt.allocator.cudnn.ConvolutionPass;
import io.memopt.allocator.cudnn.ConvolutionShape;
import io.memopt.strategy.cudnn.NetworkScratch;

/**
 * One pass of a convolution within a recorded pass of a network, and the scratch memory that it cannot do without.
 *
 * @param birth number of the next workspace array when it was computed
 * @param shape with {@link PassMemory#HIGH} examples
 * @param lowBytes least scratch memory with {@link PassMemory#LOW} examples
 * @param highBytes the same with {@link PassMemory#HIGH}
 */
record ScratchCall(int birth, ConvolutionShape shape, ConvolutionPass pass, long lowBytes, long highBytes) {

    /** Of which nobody knows yet what it takes. */
    ScratchCall(int birth, ConvolutionShape shape, ConvolutionPass pass) {
        this(birth, shape, pass, 0, 0);
    }

    /** With what is known of {@code scratch}, now that passes with few examples were computed. */
    ScratchCall withLeast(NetworkScratch scratch) {
        return new ScratchCall(birth, shape, pass, least(scratch, PassMemory.LOW), least(scratch, PassMemory.HIGH));
    }

    private long least(NetworkScratch scratch, int batch) {
        return scratch.chosenWithin(over(batch), pass, 0)
                .map(ConvolutionAlgorithm::scratchBytes)
                .orElse(0L);
    }

    /** The convolution where the network computes {@code batch} examples. */
    ConvolutionShape over(int batch) {
        return shape.withBatch(shape.batch() * batch / PassMemory.HIGH);
    }

    /** Least bytes with {@code batch} examples, on the line through the two that are known; no fewer than with few examples. */
    long leastBytes(int batch) {
        long perExample = Math.max(0, highBytes - lowBytes);
        return Math.max(lowBytes, highBytes + perExample * (batch - PassMemory.HIGH));
    }
}
