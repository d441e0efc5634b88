// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.Count;
import io.memopt.analysis.Exactness;

/**
 * What a {@link TwinRun} found.
 *
 * @param iterations length of each run
 * @param plain how far two plain runs are apart: what no attachment can be blamed for
 * @param attached how far the attached run is from the first plain one
 */
public record TwinResult(int iterations, Difference plain, Difference attached) {

    /**
     * The strictest class that the attached run met.
     *
     * @param bound largest absolute difference that another order of summation may make
     */
    public Exactness met(double bound) {
        if (attached.isBitwise()) {
            return Exactness.BITWISE;
        }
        return attached.largest() <= bound ? Exactness.REORDERED : Exactness.LOSSY;
    }

    /**
     * Returns this result when the attached run equals the plain one bit for bit.
     *
     * @throws AssertionError if it does not, with the differences
     */
    public TwinResult requireBitwise() {
        return require(Exactness.BITWISE, 0);
    }

    /**
     * Returns this result when the attached run met {@code promised}, or a stricter class.
     *
     * @param bound largest absolute difference that {@link Exactness#REORDERED} allows; not looked at for the others
     * @throws AssertionError if it did not, with the differences
     */
    public TwinResult require(Exactness promised, double bound) {
        Exactness met = met(bound);
        if (met.compareTo(promised) > 0) {
            throw new AssertionError(
                    "After " + Count.of(iterations, "iteration") + " the run met " + met + ", promised was "
                            + promised + (promised == Exactness.REORDERED ? " within " + bound : "")
                            + ".\n  attached to plain: "
                            + attached + "\n  plain to plain:    " + plain + "\n" + advice());
        }
        return this;
    }

    private String advice() {
        return plain.isBitwise()
                ? "Plain training repeats itself exactly, so the difference is made by what was attached: switch it off, or"
                        + " declare the class that it met."
                : "Plain training does not repeat itself either, so nothing can be said about single bits here: use"
                        + " deterministic layers and one native thread (OMP_NUM_THREADS=1), or a looser class.";
    }
}
