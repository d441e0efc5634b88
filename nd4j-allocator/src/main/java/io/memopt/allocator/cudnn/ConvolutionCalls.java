// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.List;

/** One pass of one convolution on given arrays: what a tuner asks of a library. Threading: one thread at a time. */
interface ConvolutionCalls {
    ConvolutionShape shape();

    ConvolutionPass pass();

    /** True where algorithms are numbers of cuDNN's proposals for a graph, false where they are those of its older functions. */
    boolean isGraph();

    /** Algorithms that there may be, in any order. */
    List<Integer> candidates(ConvolutionMath math);

    /** Whether {@code algorithm} gives the same bits in every run. */
    boolean repeats(int algorithm);

    /** Algorithms in the order in which the library would try them; may be incomplete. */
    List<Integer> ranking();

    /** Scratch memory for {@code items} items, or -1 when the library does not support it. */
    long scratchBytes(int algorithm, ConvolutionMath math, int items);

    /** Whether so much scratch memory is to be had now within the limits. */
    boolean hasRoom(long bytes);

    /** Computes the pass, or begins to; false when the library or the memory for scratch refuses. */
    boolean run(ConvolutionAlgorithm algorithm);

    /** Returns when all that was begun is done. */
    void await();
}
