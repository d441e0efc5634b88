// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import java.util.Random;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks of one kind of convolution each, over images {@code [3, 9, 10]}. */
public enum LayerCases {
    PLAIN(ConvolutionMode.Truncate, CNN2DFormat.NCHW, 3, 1, 1, 0, Activation.RELU),
    PADDED(ConvolutionMode.Truncate, CNN2DFormat.NCHW, 3, 2, 1, 1, Activation.TANH),
    SAME(ConvolutionMode.Same, CNN2DFormat.NCHW, 3, 1, 1, 0, Activation.RELU),
    SAME_ASYMMETRIC(ConvolutionMode.Same, CNN2DFormat.NCHW, 2, 1, 1, 0, Activation.RELU),
    SAME_STRIDED(ConvolutionMode.Same, CNN2DFormat.NCHW, 3, 2, 1, 0, Activation.IDENTITY),
    DILATED(ConvolutionMode.Same, CNN2DFormat.NCHW, 3, 1, 2, 0, Activation.RELU),
    CHANNELS_LAST(ConvolutionMode.Same, CNN2DFormat.NHWC, 3, 1, 1, 0, Activation.RELU),
    CHANNELS_LAST_STRIDED(ConvolutionMode.Same, CNN2DFormat.NHWC, 2, 2, 1, 0, Activation.TANH),
    POINTWISE(ConvolutionMode.Truncate, CNN2DFormat.NCHW, 1, 1, 1, 0, Activation.RELU);

    private final ConvolutionMode mode;
    private final CNN2DFormat format;
    private final int kernel;
    private final int stride;
    private final int dilation;
    private final int pad;
    private final Activation activation;

    LayerCases(
            ConvolutionMode mode,
            CNN2DFormat format,
            int kernel,
            int stride,
            int dilation,
            int pad,
            Activation activation) {
        this.mode = mode;
        this.format = format;
        this.kernel = kernel;
        this.stride = stride;
        this.dilation = dilation;
        this.pad = pad;
        this.activation = activation;
    }

    /** A batch; the same for the same seed. */
    public DataSet data(int batch, long seed) {
        Random random = new Random(seed);
        float[] x = new float[batch * 3 * 9 * 10];
        for (int i = 0; i < x.length; i++) {
            x[i] = random.nextFloat() - 0.3f;
        }
        float[] y = new float[batch * 4];
        for (int i = 0; i < batch; i++) {
            y[i * 4 + random.nextInt(4)] = 1;
        }
        long[] shape = name().startsWith("CHANNELS_LAST") ? new long[] {batch, 9, 10, 3} : new long[] {batch, 3, 9, 10};
        return new DataSet(
                Nd4j.createFromArray(x).reshape(shape), Nd4j.createFromArray(y).reshape(batch, 4));
    }

    /**
     * A new network with the same parameters every time: convolution, normalisation, the same convolution without bias, pooling,
     * dense with normalisation.
     */
    public Model create() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.05))
                .weightInit(WeightInit.XAVIER)
                .convolutionMode(mode)
                .list()
                .layer(convolution(5, true))
                .layer(new BatchNormalization.Builder().dataFormat(format).build())
                .layer(convolution(6, false))
                .layer(new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .dataFormat(format)
                        .build())
                .layer(new DenseLayer.Builder()
                        .nOut(8)
                        .activation(Activation.TANH)
                        .build())
                .layer(new BatchNormalization.Builder().useLogStd(true).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(4)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.convolutional(9, 10, 3, format))
                .build());
        network.init();
        return network;
    }

    private ConvolutionLayer convolution(int filters, boolean hasBias) {
        return new ConvolutionLayer.Builder()
                .kernelSize(kernel, kernel)
                .stride(stride, stride)
                .dilation(dilation, dilation)
                .padding(pad, pad)
                .nOut(filters)
                .hasBias(hasBias)
                .activation(activation)
                .dataFormat(format)
                .build();
    }
}
