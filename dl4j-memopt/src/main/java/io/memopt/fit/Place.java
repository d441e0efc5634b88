// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;

/**
 * A layer or vertex in a network, with the types of what goes in and out.
 *
 * @param layer empty for a vertex without a layer
 * @param kind simple name of the class, for messages
 * @param inputs names of the places that feed it
 * @param in what each of them gives
 * @param first true when it is fed by the data itself
 * @param output true when it is an output of the network
 */
record Place(
        String name,
        Optional<Layer> layer,
        String kind,
        List<String> inputs,
        List<InputType> in,
        InputType out,
        boolean first,
        boolean output) {

    Place {
        inputs = List.copyOf(inputs);
        in = List.copyOf(in);
    }

    /** A loss layer does not know its size; its output is as its input. */
    static InputType outputOf(Optional<Layer> layer, InputType in, InputType declared) {
        return layer.filter(LossLayer.class::isInstance).isPresent() ? in : declared;
    }

    /** Elements of one item of all inputs together. */
    long inElements() {
        return in.stream().mapToLong(InputType::arrayElementsPerExample).sum();
    }

    /** Elements of one item of the output. */
    long outElements() {
        return out.arrayElementsPerExample();
    }
}
