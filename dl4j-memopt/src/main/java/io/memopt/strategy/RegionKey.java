// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.Arrays;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What decides which arrays a pass of one network asks for. The first array is part of it for networks that do not say their
 * inputs.
 *
 * @param pass workspace that was opened first, and for whom: tells training from inference and one layer from another
 * @param batch first dimension of all inputs, labels and masks, of which some may have so many rows for each example; 0 when unknown or
 *     different
 * @param shapes the other dimensions, and whether recurrent layers go on from where they stopped
 * @param workspace and size of the first array
 * @param bytes rounded size of the first array
 * @param keepActivations true when they live to the end of the pass for listeners
 */
record RegionKey(String pass, int batch, String shapes, String workspace, long bytes, boolean keepActivations) {

    /** Workspace that training opens first. */
    static final String PASS = "WS_ALL_LAYERS_ACT";

    private static final String CALL = " in ";

    /** What the way of a {@link GradientPass} that is cut begins with. */
    private static final String CUT = " cut ";

    /**
     * The pass of which the first array is asked for, on the calling thread.
     *
     * @param model null for a network that nobody observes
     * @param outermost workspace that was opened first
     * @param asker phase and layer: a pass that keeps no activations is one for each layer
     */
    static RegionKey of(@Nullable Model model, String outermost, String asker, String workspace, long bytes) {
        if (model == null) {
            return new RegionKey(outermost, 0, "", workspace, bytes, false);
        }
        String call = ModelCall.current();
        return outermost.equals(PASS) && call.equals(ModelCall.GRADIENTS)
                ? training(model, outermost, workspace, bytes)
                : inference(model, outermost + "@" + asker + CALL + call, workspace, bytes);
    }

    /** False for one that was read from a damaged file. */
    boolean isWhole() {
        return pass != null && shapes != null && workspace != null;
    }

    /** Whether it is a pass of training's own. */
    boolean isTraining() {
        return pass.equals(PASS);
    }

    /** Training, and how passes are cut if they are, or the method of inference that the pass is part of. */
    String kind() {
        int cut = shapes.indexOf(CUT);
        return pass.substring(Math.max(0, pass.lastIndexOf(CALL))) + (cut < 0 ? "" : shapes.substring(cut));
    }

    /** The same for two passes that differ in nothing but the batch. */
    String likeness() {
        return pass + '|' + shapes + '|' + workspace + '|' + keepActivations;
    }

    /** A pass of training. */
    private static RegionKey training(Model model, String pass, String workspace, long bytes) {
        Shapes shapes = new Shapes();
        if (model instanceof MultiLayerNetwork network) {
            shapes.add(network.getInput(), network.getLabels(), network.getMaskArray());
            shapes.add(network.getOutputLayer().getMaskArray());
        } else if (model instanceof ComputationGraph graph) {
            shapes.add(graph.getInputs());
            shapes.add(graph.getInputMaskArrays());
            shapes.add(graph.getLabelMaskArrays());
        }
        if (SolverAccess.current(model) instanceof GradientPass own) {
            shapes.text.append(own.way());
        }
        return of(model, pass, workspace, bytes, shapes);
    }

    /** A pass of inference: labels are those of another pass, and so are the inputs that a graph remembers. */
    private static RegionKey inference(Model model, String pass, String workspace, long bytes) {
        Shapes shapes = new Shapes();
        if (model instanceof MultiLayerNetwork network) {
            shapes.add(network.getInput(), network.getMaskArray());
        }
        return of(model, pass, workspace, bytes, shapes);
    }

    private static RegionKey of(Model model, String pass, String workspace, long bytes, Shapes shapes) {
        shapes.text.append(NetworkAccess.carriesState(model) ? " with state" : "");
        return new RegionKey(
                pass, shapes.batch, shapes.text.toString(), workspace, bytes, ActivationReaders.among(model));
    }

    /** The pass of training with the minibatch that {@code model} holds, of which the first array is not known yet. */
    static RegionKey awaited(Model model) {
        return training(model, PASS, "", 0);
    }

    /** Whether the two differ in nothing but the batch and the first array. */
    boolean isAlike(RegionKey other) {
        return pass.equals(other.pass) && shapes.equals(other.shapes) && keepActivations == other.keepActivations;
    }

    /** Whether the two differ in nothing but the batch. */
    boolean isKin(RegionKey other) {
        return likeness().equals(other.likeness());
    }

    @Override
    public String toString() {
        return pass + " batch " + batch + " shapes " + shapes;
    }

    /** Collects dimensions. */
    private static final class Shapes {
        private final StringBuilder text = new StringBuilder();
        private int batch;
        private boolean first = true;

        void add(@Nullable INDArray @Nullable ... arrays) {
            if (arrays != null) {
                for (INDArray array : arrays) {
                    add(array);
                }
            }
            text.append(';');
        }

        private void add(@Nullable INDArray array) {
            if (array == null) {
                text.append('-');
                return;
            }
            long[] shape = array.shape();
            int rows = shape.length == 0 ? 0 : Math.toIntExact(shape[0]);
            if (!first && batch > 0 && rows > batch && rows % batch == 0) {
                text.append('x').append(rows / batch); // masks of an output layer have a row for each step
            } else {
                batch = first || batch == rows ? rows : 0;
            }
            first = false;
            text.append(shape.length < 2 ? "[]" : Arrays.toString(Arrays.copyOfRange(shape, 1, shape.length)));
        }
    }
}
