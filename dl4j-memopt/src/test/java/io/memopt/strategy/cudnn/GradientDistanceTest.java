// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.cudnn.LayerEngine;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.zoo.model.LeNet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What the distance of a whole network's gradient from double precision is made of: errors of layers go through as large as they
 * are, until one moves an input of a ReLU over zero, or another element of a pooling window to the top. Then one delta goes
 * elsewhere, which is a jump that has the size of one delta among all and not that of the error. Zoo LeNet, whose convolutions are
 * computed exactly here and then disturbed.
 */
@Tag("soak")
class GradientDistanceTest {
    private static final int BATCH = 16;
    private static final int PIXELS = 784;
    private static final int CLASSES = 10;
    private static final int SEEDS = 3;
    /** The rounding of the other operations. */
    private static final double FLOOR = 3e-7;
    /** A jump is many times what it was made by. */
    private static final double JUMP = 20;

    private final HostEngine host = new HostEngine();
    private final MultiLayerNetwork network = (MultiLayerNetwork) LeNet.builder()
            .seed(123)
            .inputShape(new int[] {1, 28, 28})
            .numClasses(CLASSES)
            .build()
            .init();

    @Test
    void distance_isThatOfTheLayers_orAJumpWhereADecisionFlips() {
        DataSet data = data();
        double[] truth = truth(data);
        double builtIn = LayerErrors.error(truth, gradient(network, data));
        print("built in %.2e", builtIn);
        assertThat(builtIn).isLessThan(FLOOR);

        List<Double> jumps = new ArrayList<>();
        for (double noise : new double[] {1e-7, 3e-7, 1e-6, 3e-6, 1e-5}) {
            for (int seed = 0; seed < SEEDS; seed++) {
                double distance = LayerErrors.error(truth, disturbed(data, noise, seed));
                print("noise %.0e: %.2e", noise, distance);
                if (distance > JUMP * noise) {
                    jumps.add(noise);
                } else {
                    assertThat(distance).isLessThan(2 * noise + FLOOR);
                }
            }
        }
        assertThat(jumps).isNotEmpty().allMatch(noise -> noise > 3e-7);
    }

    private double[] disturbed(DataSet data, double noise, int seed) {
        CudnnLayers layers = CudnnLayers.on(noisy(noise, new Random(seed)), Convolutions.CUDNN);
        layers.attach(network);
        try {
            return gradient(network, data);
        } finally {
            layers.detach(network);
        }
    }

    /** The host's engine with normal noise on each element of a forward convolution, by the root mean square of its results. */
    private LayerEngine noisy(double noise, Random random) {
        return (LayerEngine) Proxy.newProxyInstance(
                LayerEngine.class.getClassLoader(), new Class<?>[] {LayerEngine.class}, (proxy, method, arguments) -> {
                    Object result = method.invoke(host, arguments);
                    if (method.getName().equals("forward")) {
                        disturb((INDArray) arguments[arguments.length - 1], noise, random);
                    }
                    return result;
                });
    }

    private static void disturb(INDArray y, double noise, Random random) {
        double scale = noise * y.norm2Number().doubleValue() / Math.sqrt((double) y.length());
        float[] values = y.dup('c').data().asFloat();
        for (int i = 0; i < values.length; i++) {
            values[i] += (float) (scale * random.nextGaussian());
        }
        y.assign(Nd4j.createFromArray(values).reshape(y.shape()));
    }

    private double[] truth(DataSet data) {
        MultiLayerNetwork exact = network.convertDataType(DataType.DOUBLE);
        return gradient(
                exact,
                new DataSet(
                        data.getFeatures().castTo(DataType.DOUBLE),
                        data.getLabels().castTo(DataType.DOUBLE)));
    }

    private static double[] gradient(MultiLayerNetwork model, DataSet data) {
        for (Layer layer : model.getLayers()) {
            layer.conf().getLayer().setIDropout(null);
        }
        model.setInput(data.getFeatures());
        model.setLabels(data.getLabels());
        model.computeGradientAndScore();
        return HostEngine.values(model.getFlattenedGradients());
    }

    /** Uniform pixels. */
    private static DataSet data() {
        Random random = new Random(0);
        float[] x = new float[BATCH * PIXELS];
        for (int i = 0; i < x.length; i++) {
            x[i] = random.nextFloat();
        }
        float[] y = new float[BATCH * CLASSES];
        for (int i = 0; i < BATCH; i++) {
            y[i * CLASSES + random.nextInt(CLASSES)] = 1;
        }
        return new DataSet(
                Nd4j.createFromArray(x).reshape(BATCH, PIXELS),
                Nd4j.createFromArray(y).reshape(BATCH, CLASSES));
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
