// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

/** What a change does to the numbers that training computes. */
public enum Exactness {
    /** Equal bit for bit. */
    BITWISE,
    /** The same mathematics, summed in another order. */
    REORDERED,
    /** Other numbers. */
    LOSSY
}
