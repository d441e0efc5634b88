// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Shape of one item of a batch, i.e. an array's shape without its first dimension.
 *
 * @param type data type of the array
 */
record ItemShape(List<Long> dimensions, DataType type) {

    ItemShape {
        dimensions = List.copyOf(dimensions);
    }

    /** The shape of the items in {@code array}, whose first dimension is the batch. */
    static ItemShape of(INDArray array) {
        return new ItemShape(Arrays.stream(array.shape()).skip(1).boxed().toList(), array.dataType());
    }

    /**
     * The shape that a network with this input type is given.
     *
     * @throws IllegalArgumentException if a dimension is not known, e.g. the length of a sequence
     */
    static ItemShape of(InputType input, DataType type) {
        long[] shape = switch (input.getType()) {
            case FF -> new long[] {((InputType.InputTypeFeedForward) input).getSize()};
            case CNNFlat -> new long[] {((InputType.InputTypeConvolutionalFlat) input).getFlattenedSize()};
            case RNN -> sequence((InputType.InputTypeRecurrent) input);
            case CNN -> image((InputType.InputTypeConvolutional) input);
            case CNN3D -> volume((InputType.InputTypeConvolutional3D) input);
        };
        if (Arrays.stream(shape).anyMatch(dimension -> dimension <= 0)) {
            throw new IllegalArgumentException("input type " + input + " has a dimension that is not known; name all,"
                    + " e.g. InputType.recurrent(size, steps), or give an example of the data");
        }
        return new ItemShape(Arrays.stream(shape).boxed().toList(), type);
    }

    private static long[] sequence(InputType.InputTypeRecurrent input) {
        return input.getFormat() == RNNFormat.NWC
                ? new long[] {input.getTimeSeriesLength(), input.getSize()}
                : new long[] {input.getSize(), input.getTimeSeriesLength()};
    }

    private static long[] image(InputType.InputTypeConvolutional input) {
        return input.getFormat() == CNN2DFormat.NHWC
                ? new long[] {input.getHeight(), input.getWidth(), input.getChannels()}
                : new long[] {input.getChannels(), input.getHeight(), input.getWidth()};
    }

    private static long[] volume(InputType.InputTypeConvolutional3D input) {
        return input.getDataFormat() == Convolution3D.DataFormat.NDHWC
                ? new long[] {input.getDepth(), input.getHeight(), input.getWidth(), input.getChannels()}
                : new long[] {input.getChannels(), input.getDepth(), input.getHeight(), input.getWidth()};
    }

    /** Bytes of one item. */
    long bytes() {
        return dimensions.stream().reduce(1L, Math::multiplyExact) * type.width();
    }

    /** An array of {@code batch} items, all zero. */
    INDArray zeros(int batch) {
        LongStream shape =
                LongStream.concat(LongStream.of(batch), dimensions.stream().mapToLong(Long::longValue));
        return Nd4j.create(type, shape.toArray());
    }
}
