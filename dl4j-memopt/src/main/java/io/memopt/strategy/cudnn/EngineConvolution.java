// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import static io.memopt.strategy.cudnn.DenseArrays.channelsFirst;
import static io.memopt.strategy.cudnn.DenseArrays.dense;
import static io.memopt.strategy.cudnn.DenseArrays.inFormat;
import static io.memopt.strategy.cudnn.DenseArrays.isDense;

import io.memopt.allocator.cudnn.ConvolutionPass;
import io.memopt.allocator.cudnn.ConvolutionShape;
import io.memopt.allocator.cudnn.LayerEngine;
import io.memopt.allocator.cudnn.LayerEngineException;
import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer.AlgoMode;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer.BwdDataAlgo;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer.BwdFilterAlgo;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer.FwdAlgo;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.ConvolutionHelper;
import org.deeplearning4j.nn.params.ConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Computes one convolution layer by an engine. Where it cannot, it answers null, which sends Deeplearning4j to its built-in
 * path for that pass; an engine that failed is not asked again. Algorithms that the layer's configuration names are ignored.
 *
 * <p>Threading: as the layer, one thread at a time.
 */
final class EngineConvolution implements ConvolutionHelper {
    private final LayerEngine engine;
    private final String layer;
    private final boolean hasBias;
    private final Refusals refusals;
    private final @Nullable ForwardResult forward;
    private final NetworkScratch scratch;
    private volatile @Nullable ConvolutionShape lastShape;
    private boolean failed;

    /**
     * @param scratch hears of each pass
     * @param reuseForward whether the backward pass may take the forward pass's result
     */
    EngineConvolution(
            LayerEngine engine,
            NetworkScratch scratch,
            String layer,
            boolean hasBias,
            boolean reuseForward,
            Refusals refusals) {
        this.engine = engine;
        this.scratch = scratch;
        this.layer = layer;
        this.hasBias = hasBias;
        this.refusals = refusals;
        this.forward = reuseForward ? new ForwardResult() : null;
    }

    String layer() {
        return layer;
    }

    /** Of the latest pass that the engine computed. */
    Optional<ConvolutionShape> lastShape() {
        return Optional.ofNullable(lastShape);
    }

    @Override
    public @Nullable INDArray preOutput(
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
        INDArray known = forward == null ? null : forward.take(input, weights);
        if (known != null) {
            return known;
        }
        INDArray x = channelsFirst(input, format);
        Optional<ConvolutionGeometry> geometry =
                supported(x, weights, strides, pad, dilation, convolutionMode, ConvolutionPass.FORWARD);
        if (geometry.isEmpty()) {
            return null;
        }
        ConvolutionShape shape = geometry.get().shape();
        INDArray z = workspaces.createUninitialized(
                ArrayType.ACTIVATIONS, DataType.FLOAT, geometry.get().outputShape(), 'c');
        scratch.computing(shape, ConvolutionPass.FORWARD);
        boolean done = guarded(() -> engine.forward(
                shape, dense(geometry.get().extend(x)), dense(weights), hasBias ? dense(bias) : null, z));
        if (!done) {
            return null;
        }
        lastShape = shape;
        INDArray result = inFormat(z, format);
        if (forward != null) {
            forward.keep(input, weights, result);
        }
        return result;
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
        INDArray x = channelsFirst(input, format);
        Optional<ConvolutionGeometry> supported = supported(
                x,
                weights,
                strides,
                pad,
                dilation,
                convolutionMode,
                ConvolutionPass.BACKWARD_FILTER,
                ConvolutionPass.BACKWARD_DATA);
        if (supported.isEmpty() || !isDense(weightGradient) || (hasBias && !isDense(biasGradient))) {
            return null;
        }
        ConvolutionGeometry geometry = supported.get();
        INDArray dx = workspaces.createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.FLOAT, x.shape(), 'c');
        INDArray extended =
                geometry.extended() ? Nd4j.createUninitialized(DataType.FLOAT, geometry.inputShape(), 'c') : dx;
        scratch.computing(geometry.shape(), ConvolutionPass.BACKWARD_FILTER);
        scratch.computing(geometry.shape(), ConvolutionPass.BACKWARD_DATA);
        boolean done = guarded(() -> engine.backward(
                geometry.shape(),
                dense(geometry.extend(x)),
                dense(weights),
                dense(channelsFirst(delta, format)),
                extended,
                weightGradient,
                hasBias ? biasGradient : null));
        if (!done) {
            return null;
        }
        if (geometry.extended()) {
            dx.assign(geometry.inner(extended));
        }
        return new Pair<>(gradient(weightGradient, biasGradient), inFormat(dx, format));
    }

    private Gradient gradient(INDArray weightGradient, INDArray biasGradient) {
        Gradient gradient = new DefaultGradient();
        if (hasBias) {
            gradient.setGradientFor(ConvolutionParamInitializer.BIAS_KEY, biasGradient);
        }
        gradient.setGradientFor(ConvolutionParamInitializer.WEIGHT_KEY, weightGradient, 'c');
        return gradient;
    }

    /** The activation function is Deeplearning4j's to apply. */
    @Override
    public @Nullable INDArray activate(INDArray z, IActivation activation, boolean training) {
        if (!training && forward != null) {
            forward.forget();
        }
        return null;
    }

    private Optional<ConvolutionGeometry> supported(
            INDArray x,
            INDArray weights,
            int[] strides,
            int[] pad,
            int[] dilation,
            ConvolutionMode mode,
            ConvolutionPass... passes) {
        if (failed) {
            return Optional.empty();
        }
        if (x.dataType() != DataType.FLOAT || weights.dataType() != DataType.FLOAT) {
            refusals.say(layer, "its type is " + weights.dataType() + ", expected FLOAT.");
            return Optional.empty();
        }
        Optional<ConvolutionGeometry> geometry =
                ConvolutionGeometry.of(x.shape(), weights.shape(), strides, pad, dilation, mode);
        if (geometry.isEmpty()) {
            refusals.say(layer, "mode " + mode + " with its sizes is not one that cuDNN has.");
            return geometry;
        }
        ConvolutionShape shape = geometry.get().shape();
        for (ConvolutionPass pass : passes) {
            if (engine.table(shape, pass).isPresent()
                    && engine.chosen(shape, pass).isEmpty()) {
                refusals.say(
                        layer,
                        "no algorithm for " + pass + " of " + shape.key()
                                + " obeys the settings. Allow more scratch memory, or algorithms that do not repeat.");
                return Optional.empty();
            }
        }
        return geometry;
    }

    private boolean guarded(Computation computation) {
        try {
            return computation.run();
        } catch (LayerEngineException e) {
            failed = true;
            refusals.say(layer, String.valueOf(e.getMessage()));
            return false;
        }
    }

    private interface Computation {
        boolean run();
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
