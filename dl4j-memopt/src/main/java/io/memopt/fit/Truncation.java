// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.inputs.InputType;

/**
 * Back-propagation through a part of a sequence at a time: an iteration sees that many steps, whatever the data has.
 *
 * @param steps of an iteration
 * @param whole steps of the data
 */
record Truncation(long steps, long whole) {

    static Truncation of(BackpropType type, int length, InputType... inputs) {
        long whole = 0;
        for (InputType input : inputs) {
            if (input instanceof InputType.InputTypeRecurrent sequence) {
                whole = Math.max(whole, sequence.getTimeSeriesLength());
            }
        }
        return new Truncation(type == BackpropType.TruncatedBPTT ? Math.min(whole, length) : whole, whole);
    }

    /** What an iteration sees of {@code input}. */
    InputType shorten(InputType input) {
        return withSteps(input, whole, steps);
    }

    /** What the data has, if an iteration sees {@code part}. */
    InputType lengthen(InputType part) {
        return withSteps(part, steps, whole);
    }

    private static InputType withSteps(InputType type, long before, long after) {
        return type instanceof InputType.InputTypeRecurrent sequence && sequence.getTimeSeriesLength() == before
                ? InputType.recurrent(sequence.getSize(), after, sequence.getFormat())
                : type;
    }
}
