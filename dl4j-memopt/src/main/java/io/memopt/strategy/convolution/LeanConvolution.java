// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.convolution;

import java.lang.ref.WeakReference;
import java.util.Map;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer.AlgoMode;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer.BwdDataAlgo;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer.BwdFilterAlgo;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer.FwdAlgo;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.ConvolutionHelper;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.params.ConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.shape.Shape;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Computes one convolution layer as Deeplearning4j's built-in path does, bit for bit, with one array of the size of its unfolded input at
 * a time where that has two. Unfolded (im2col), an input takes the bytes of each of its elements once for each element of the kernel.
 *
 * <pre>
 *   built in:  unfolded gradient, c order        &lt;- copy of --  matrix product, f order, ND4J's temporary
 *   here:      a few examples of it, c order     &lt;- copy of --  matrix product, f order
 * </pre>
 *
 * <p>Matrix products are the same calls with the same arrays; see {@link FoldedByExamples} for the rest.
 *
 * <p>Threading: as the layer, one thread at a time.
 */
final class LeanConvolution implements ConvolutionHelper {
    private final WeakReference<ConvolutionLayer> layer;
    private final boolean hasBias;
    /** Of a backward pass, from its own computation of the layer's result on until it is used up. */
    private @Nullable INDArray unfolded;

    /** For {@code layer}, which is held weakly. */
    LeanConvolution(ConvolutionLayer layer) {
        this.layer = new WeakReference<>(layer);
        this.hasBias = layer.hasBias();
    }

    @Override
    public INDArray preOutput(
            INDArray input,
            INDArray weights,
            INDArray bias,
            int[] kernel,
            int[] strides,
            int[] pad,
            AlgoMode mode,
            FwdAlgo algorithm,
            ConvolutionMode convolutionMode,
            int[] dilation,
            CNN2DFormat format,
            LayerWorkspaceMgr workspaces) {
        Geometry sizes = Geometry.of(input, weights, strides, pad, dilation, convolutionMode);
        long filters = weights.size(0);
        INDArray matrix = unfolded(input, weights, sizes);
        INDArray z = workspaces.createUninitialized(
                ArrayType.ACTIVATIONS, weights.dataType(), new long[] {sizes.positions(), filters}, 'f');
        matrix.mmuli(weightMatrix(weights, sizes), z);
        if (hasBias) {
            z.addiRowVector(bias);
        }
        unfolded = matrix;
        long[] shape = {sizes.outWidth(), sizes.outHeight(), sizes.batch(), filters};
        return Shape.newShapeNoCopy(z, shape, true).permute(2, 3, 1, 0);
    }

    /** {@code [positions, taps]} in c order. */
    private static INDArray unfolded(INDArray input, INDArray weights, Geometry sizes) {
        long[] shape = {
            sizes.batch(), sizes.outHeight(), sizes.outWidth(), sizes.channels(), sizes.height(), sizes.width()
        };
        INDArray columns = Nd4j.createUninitialized(weights.dataType(), shape, 'c');
        sizes.unfold(input.castTo(weights.dataType()), columns.permute(0, 3, 4, 5, 1, 2));
        return Shape.newShapeNoCopy(columns, new long[] {sizes.positions(), sizes.taps()}, false);
    }

    /** {@code [taps, filters]}, a view in f order. */
    private static INDArray weightMatrix(INDArray weights, Geometry sizes) {
        return weights.permute(3, 2, 1, 0).reshape('f', sizes.taps(), weights.size(0));
    }

    @Override
    public @Nullable Pair<Gradient, INDArray> backpropGradient(
            INDArray input,
            INDArray weights,
            INDArray bias,
            INDArray delta,
            int[] kernel,
            int[] strides,
            int[] pad,
            INDArray biasGradient,
            INDArray weightGradient,
            IActivation activation,
            AlgoMode mode,
            BwdFilterAlgo filterAlgorithm,
            BwdDataAlgo dataAlgorithm,
            ConvolutionMode convolutionMode,
            int[] dilation,
            CNN2DFormat format,
            LayerWorkspaceMgr workspaces) {
        INDArray matrix = unfolded;
        unfolded = null;
        if (matrix == null) {
            return null; // Put in between the two: the built-in path unfolds again.
        }
        Geometry sizes = Geometry.of(input, weights, strides, pad, dilation, convolutionMode);
        INDArray errors = delta.permute(1, 0, 2, 3).reshape('c', weights.size(0), sizes.positions());
        INDArray filters = Shape.newShapeNoCopy(weightGradient, new long[] {weights.size(0), sizes.taps()}, false);
        Nd4j.gemm(matrix, errors, filters.transpose(), true, true, 1.0, 0.0);
        INDArray below = inputGradient(weights, errors, sizes, workspaces);
        Gradient gradient = new DefaultGradient();
        if (hasBias) {
            errors.sum(biasGradient, 1);
            gradient.setGradientFor(ConvolutionParamInitializer.BIAS_KEY, biasGradient);
        }
        gradient.setGradientFor(ConvolutionParamInitializer.WEIGHT_KEY, weightGradient, 'c');
        forgetNoise();
        return new Pair<>(gradient, below);
    }

    /** Weights with this pass's noise, which Deeplearning4j forgets after its built-in path only: the next pass would take them again. */
    private void forgetNoise() {
        ConvolutionLayer computed = layer.get();
        if (computed != null) {
            computed.clearNoiseWeightParams();
        }
    }

    private static INDArray inputGradient(
            INDArray weights, INDArray errors, Geometry sizes, LayerWorkspaceMgr workspaces) {
        long[] unfoldedShape = {sizes.taps(), sizes.positions()};
        INDArray product = Nd4j.createUninitialized(weights.dataType(), unfoldedShape, 'f');
        weightMatrix(weights, sizes).mmuli(errors, product);
        long[] shape = {sizes.channels(), sizes.batch(), sizes.inHeight(), sizes.inWidth()};
        INDArray below = workspaces
                .createUninitialized(ArrayType.ACTIVATION_GRAD, weights.dataType(), shape, 'c')
                .permute(1, 0, 2, 3);
        new FoldedByExamples(sizes, product).into(below);
        return below;
    }

    /** The activation function is Deeplearning4j's to apply. Called in forward passes alone, which no backward pass follows at once. */
    @Override
    public @Nullable INDArray activate(INDArray z, IActivation activation, boolean training) {
        unfolded = null;
        return null;
    }

    /** None that is this layer's own. */
    @Override
    public Map<String, Long> helperMemoryUse() {
        return Map.of();
    }

    @Override
    public boolean checkSupported() {
        return true;
    }
}
