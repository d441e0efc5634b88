// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

/**
 * How algorithms are chosen.
 *
 * @param deterministic only algorithms that repeat bit for bit
 * @param graphs takes cuDNN's graphs where the presets have them
 * @param tf32 also those that round factors to 10 bits of mantissa; then results are other numbers
 * @param scratchBytes most scratch memory for each stream, at least 0
 * @param scratchShare a pass takes at most 64 MiB and so many times the bytes of its arrays; 0 for no such bound
 * @param measure measures times at first use; otherwise cuDNN's heuristic ranks
 * @param maxParts most parts that a minibatch may be computed in to save scratch memory, 1 to 64
 */
public record CudnnOptions(
        boolean deterministic,
        boolean graphs,
        boolean tf32,
        long scratchBytes,
        int scratchShare,
        boolean measure,
        int maxParts) {
    private static final int MOST_PARTS = 64;
    private static final long ALWAYS = 64L << 20;
    /** Where nothing fits into the budget, a pass may take this many times the budget before it goes to the built-in path. */
    private static final int STRETCH = 4;

    public CudnnOptions {
        if (scratchBytes < 0 || scratchShare < 0 || maxParts < 1 || maxParts > MOST_PARTS) {
            throw new IllegalArgumentException("scratchBytes=" + scratchBytes + " scratchShare=" + scratchShare
                    + " maxParts=" + maxParts
                    + ", expected scratchBytes and scratchShare of at least 0 and maxParts within 1.." + MOST_PARTS);
        }
    }

    /** The most that a pass of {@code shape} should take. */
    long limitBytes(ConvolutionShape shape) {
        long share = ALWAYS + scratchShare * shape.bytes();
        return scratchShare == 0 ? scratchBytes : Math.min(scratchBytes, share);
    }

    /** The most that a pass may take that has no way within {@link #scratchBytes}. */
    public long ceilingBytes() {
        return scratchBytes > Long.MAX_VALUE / STRETCH ? Long.MAX_VALUE : STRETCH * scratchBytes;
    }

    /** Part of the key of what was measured: tables of one set of rules say nothing about another. */
    String rules() {
        return (deterministic ? "repeats" : "any") + (tf32 ? "+tf32" : "+fma") + (measure ? "+measured" : "+ranked")
                + "+parts" + maxParts;
    }
}
