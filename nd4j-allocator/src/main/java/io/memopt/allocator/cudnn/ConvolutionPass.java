// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

/**
 * The three computations of a convolution, with cuDNN's algorithms for each. Names, numbers and which of them repeat bit for
 * bit are those of the reference of cuDNN's legacy convolution functions, the same in versions 8 and 9.
 */
public enum ConvolutionPass {
    FORWARD("IMPLICIT_GEMM IMPLICIT_PRECOMP_GEMM GEMM DIRECT FFT FFT_TILING WINOGRAD WINOGRAD_NONFUSED", 0),
    BACKWARD_DATA("ALGO_0 ALGO_1 FFT FFT_TILING WINOGRAD WINOGRAD_NONFUSED", 1),
    BACKWARD_FILTER("ALGO_0 ALGO_1 FFT ALGO_3 WINOGRAD WINOGRAD_NONFUSED FFT_TILING", 1 | 1 << 3);

    /** Numbers of algorithms from here on are those of cuDNN's proposals for a graph of one operation, the best first. */
    static final int FIRST_PROPOSAL = 100;
    /** And from here on those of cuDNN's engines for such a graph, as they come. */
    static final int FIRST_ENGINE = 200;
    /** And from here on those of its engines as cuDNN proposes them for the graph at hand, or as they come where it does not. */
    static final int FIRST_SUITED = 400;

    private final String names;
    /** Bit i is set when algorithm i adds with atomic operations, in an order that differs from run to run. */
    private final int atomic;

    ConvolutionPass(String names, int atomic) {
        this.names = names;
        this.atomic = atomic;
    }

    /** Number of algorithms; they are numbered from 0. */
    public int algorithms() {
        return names().length;
    }

    /** cuDNN's name without the part that all of the pass share, or the number of its proposal or engine for a graph. */
    public String nameOf(int algorithm) {
        if (algorithm >= FIRST_ENGINE) {
            return "ENGINE_" + (algorithm - FIRST_ENGINE);
        }
        if (algorithm >= FIRST_PROPOSAL) {
            return "PROPOSAL_" + (algorithm - FIRST_PROPOSAL);
        }
        return known(algorithm) ? names()[algorithm] : "ALGO_" + algorithm;
    }

    /** Whether cuDNN promises the same bits in every run. */
    public boolean repeats(int algorithm) {
        return known(algorithm) && (atomic >> algorithm & 1) == 0;
    }

    private boolean known(int algorithm) {
        return algorithm >= 0 && algorithm < algorithms();
    }

    private String[] names() {
        return names.split(" ", -1);
    }
}
