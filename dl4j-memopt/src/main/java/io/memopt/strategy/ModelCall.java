// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.Set;
import java.util.stream.Stream;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;

/**
 * Which method of a network the calling thread is in. Passes of different methods may ask for the same arrays and use them
 * otherwise: a score reads what training has done with.
 */
final class ModelCall {
    /** Training's own. */
    static final String GRADIENTS = "computeGradientAndScore";

    /** Class that computes gradients in place of the network; in it, training's own method is being called. */
    private static final String OWN_PASS = "io.memopt.strategy.checkpoint.CheckpointedPass";

    private static final Set<String> NETWORKS =
            Set.of(MultiLayerNetwork.class.getName(), ComputationGraph.class.getName());

    private static final Set<String> ENTRIES =
            Set.of(MultiLayerNetwork.class.getName(), ComputationGraph.class.getName(), OWN_PASS);

    private static final StackWalker STACK = StackWalker.getInstance();
    private static final StackWalker CLASSES = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private ModelCall() {}

    /** Name of the method through which the network was entered last; empty when none is being called. */
    static String current() {
        return STACK.walk(ModelCall::entered);
    }

    /** Whether a listener asks: the network has called it, and it has not returned yet. */
    static boolean byListener() {
        return CLASSES.walk(frames -> frames.map(StackWalker.StackFrame::getDeclaringClass)
                .takeWhile(type -> !NETWORKS.contains(type.getName()))
                .anyMatch(TrainingListener.class::isAssignableFrom));
    }

    private static String entered(Stream<StackWalker.StackFrame> frames) {
        return frames.dropWhile(frame -> !ENTRIES.contains(frame.getClassName()))
                .takeWhile(frame -> ENTRIES.contains(frame.getClassName()))
                .reduce((inner, outer) -> outer)
                .map(frame -> frame.getClassName().equals(OWN_PASS) ? GRADIENTS : frame.getMethodName())
                .orElse("");
    }
}
