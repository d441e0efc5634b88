// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.nd4j.Nd4jFacts;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.AbstractLSTM;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution2D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationReLU;

/**
 * What Deeplearning4j's layers allocate, by type. Taken from recorded iterations on the CPU without helpers; the tests compare
 * them with real runs. A type that is not here counts as one that needs a copy of its input and of its output. Not thread-safe.
 */
final class LayerRules {
    /** Layers that make their output, the gradient of their input, and next to nothing else. */
    private static final Set<String> PLAIN = Set.of(
            "DropoutLayer",
            "SubsamplingLayer",
            "Subsampling1DLayer",
            "ZeroPaddingLayer",
            "ZeroPadding1DLayer",
            "Upsampling2D",
            "Upsampling1D",
            "ElementWiseVertex",
            "MergeVertex",
            "Cropping2D");

    /** Batch normalisation of 1.0.0-M1.1 leaves nothing to the garbage collector. */
    private static final boolean DETACHES = !Nd4jFacts.version().endsWith("M1.1");

    private final boolean scoped;
    private final Set<String> guessed = new TreeSet<>();

    /** @param scoped false when training uses no workspaces, so that nothing is copied from one to another */
    LayerRules(boolean scoped) {
        this.scoped = scoped;
    }

    /** Types met so far that have no rule of their own. */
    Set<String> guessed() {
        return guessed;
    }

    Needs forward(Place place) {
        Needs needs = forwardOf(place);
        boolean drops = place.layer().filter(LayerRules::hasDropout).isPresent();
        return drops
                ? new Needs(
                        needs.working(),
                        Needs.all(needs.made(), List.of(place.inElements())),
                        needs.detached(),
                        needs.loop(),
                        needs.fixed())
                : needs;
    }

    private Needs forwardOf(Place place) {
        long in = place.inElements();
        long out = place.outElements();
        Layer layer = place.layer().orElse(null);
        if (layer instanceof ConvolutionLayer convolution && unfolds(convolution)) {
            return Needs.of(List.of(unfolded(convolution, out)), List.of(out));
        }
        if (layer instanceof BatchNormalization) {
            return new Needs(
                    Needs.times(3, in),
                    List.of(out),
                    DETACHES && scoped ? Needs.times(2, in) : List.of(),
                    List.of(),
                    0);
        }
        if (layer instanceof AbstractLSTM) {
            long steps = steps(place);
            long units = out / steps;
            return new Needs(
                    Needs.times((int) (2 * steps + 2), units),
                    List.of(out),
                    List.of(),
                    inEachStep(steps, stepOf(place, in / steps, units)),
                    4 * units * units);
        }
        if (layer instanceof DropoutLayer) {
            return Needs.of(List.of(), List.of()); // its output is the copy that every dropout makes
        }
        if (layer instanceof ActivationLayer || isPlain(place)) {
            return Needs.of(List.of(), List.of(out));
        }
        if (!(layer instanceof DenseLayer) && !(layer instanceof GlobalPoolingLayer)) {
            guessed.add(place.kind());
        }
        return Needs.of(List.of(out), List.of(out));
    }

    Needs backward(Place place) {
        long in = place.inElements();
        long out = place.outElements();
        Layer layer = place.layer().orElse(null);
        if (place.output()) {
            return layer instanceof RnnOutputLayer
                    ? Needs.of(Needs.all(Needs.times(2, in), Needs.times(5, out)), List.of(out, in, in))
                    : Needs.of(Needs.times(3, out), List.of(out, in));
        }
        if (layer instanceof ConvolutionLayer convolution && unfolds(convolution)) {
            long unfolded = unfolded(convolution, out);
            int copies = Math.max(2, 1 + copies(layer));
            return Needs.of(Needs.all(Needs.times(3, unfolded), Needs.times(copies, out)), List.of(in));
        }
        if (layer instanceof BatchNormalization) {
            return Needs.of(Needs.times(3, in), List.of(in));
        }
        if (layer instanceof AbstractLSTM) {
            return backwardInTime(place, in, out);
        }
        if (layer instanceof ActivationLayer) {
            return Needs.of(scoped ? List.of(in) : List.of(), Needs.times(scoped && copies(layer) > 1 ? 2 : 1, in));
        }
        if (layer instanceof DenseLayer) {
            return Needs.of(Needs.times(1 + copies(layer), out), List.of(in));
        }
        if (layer instanceof GlobalPoolingLayer) {
            return Needs.of(List.of(in), List.of(in));
        }
        return Needs.of(isPlain(place) ? List.of() : List.of(in, out), List.of(in));
    }

    private Needs backwardInTime(Place place, long in, long out) {
        long steps = steps(place);
        long units = out / steps;
        List<Long> gates = stepOf(place, in / steps, units);
        // Without workspaces, recorded iterations have six arrays of one unit each less in every step.
        List<Long> loop = scoped
                ? Needs.all(gates, List.of(units))
                : inEachStep(steps, place.first() ? Needs.all(gates, List.of(in / steps)) : gates);
        return new Needs(
                Needs.all(Needs.times((int) (9 * steps + 6), units), List.of(out)),
                List.of(in),
                List.of(),
                loop,
                4 * units * units);
    }

    /** Gates of a step; a step of the data, which lies otherwise than the output of a layer, is copied before. */
    private static List<Long> stepOf(Place place, long in, long units) {
        return place.first() ? List.of(in, 4 * units, 4 * units) : List.of(4 * units);
    }

    /** The scope of a loop is left after each step; without workspaces nothing is forgotten. */
    private List<Long> inEachStep(long steps, List<Long> arrays) {
        return scoped
                ? arrays
                : Stream.generate(() -> arrays)
                        .limit(steps)
                        .flatMap(List::stream)
                        .toList();
    }

    /** What computing the score of an output layer takes. */
    Needs score(Place place) {
        long in = place.inElements();
        long out = place.outElements();
        return place.layer().orElse(null) instanceof RnnOutputLayer
                ? Needs.of(Needs.all(Needs.times(2, in), Needs.times(4, out)), List.of(out))
                : Needs.of(Needs.times(2, out), List.of(out));
    }

    private static boolean isPlain(Place place) {
        return PLAIN.contains(place.kind());
    }

    /** True for a convolution that is a product with its unfolded input; the other kinds are native operations. */
    static boolean unfolds(ConvolutionLayer layer) {
        return layer.getClass() == ConvolutionLayer.class
                || layer instanceof Convolution2D
                || layer instanceof Convolution1DLayer;
    }

    /** Elements of the unfolded input: for each output pixel all channels times the kernel. */
    private static long unfolded(ConvolutionLayer layer, long out) {
        long taps = Arrays.stream(layer.getKernelSize()).reduce(1, Math::multiplyExact);
        return out / layer.getNOut() * layer.getNIn() * taps;
    }

    /** Arrays that the derivative of the activation function takes. */
    private static int copies(@Nullable Layer layer) {
        IActivation function = layer instanceof BaseLayer base
                ? base.getActivationFn()
                : layer instanceof ActivationLayer activation ? activation.getActivationFn() : null;
        if (function == null || function instanceof ActivationIdentity) {
            return 0;
        }
        return function instanceof ActivationReLU ? 2 : 1;
    }

    private static boolean hasDropout(Layer layer) {
        return layer.getIDropout() != null;
    }

    private static long steps(Place place) {
        return place.out() instanceof InputType.InputTypeRecurrent sequence
                ? Math.max(1, sequence.getTimeSeriesLength())
                : 1;
    }
}
