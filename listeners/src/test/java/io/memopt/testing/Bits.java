// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.testing;

import org.nd4j.linalg.api.ndarray.INDArray;

/** Arrays as bits, for comparisons that tell NaN from NaN and 0 from -0. */
public final class Bits {
    private Bits() {}

    /** The numbers of a FLOAT array in c order. */
    public static int[] bits(INDArray array) {
        float[] values = array.dup('c').data().asFloat();
        int[] bits = new int[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Float.floatToRawIntBits(values[i]);
        }
        return bits;
    }
}
