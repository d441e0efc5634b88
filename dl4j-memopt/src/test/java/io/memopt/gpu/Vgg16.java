// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** VGG-16 at 224x224 with 1000 classes, layer by layer as in Deeplearning4j's model zoo, which need not be there. */
final class Vgg16 {
    private static final int[] CHANNELS = {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0
    };

    private Vgg16() {}

    static MultiLayerConfiguration configuration() {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(new Nesterovs(1e-4, 0.9))
                .activation(Activation.RELU)
                .list();
        for (int channels : CHANNELS) {
            if (channels == 0) {
                list.layer(new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .build());
            } else {
                list.layer(new ConvolutionLayer.Builder(3, 3)
                        .padding(1, 1)
                        .nOut(channels)
                        .convolutionMode(ConvolutionMode.Truncate)
                        .build());
            }
        }
        return list.layer(new DenseLayer.Builder().nOut(4096).build())
                .layer(new DenseLayer.Builder().nOut(4096).build())
                .layer(new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD)
                        .nOut(1000)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.convolutional(224, 224, 3))
                .build();
    }
}
