// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import org.bytedeco.javacpp.FloatPointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.concurrency.AffinityManager;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.DataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;

/** New batches all the time, made by a function of their number. */
final class HostBatches implements DataSetIterator {
    private static final long serialVersionUID = 1;

    private final int count;
    private final transient IntFunction<DataSet> maker;
    private int next;

    HostBatches(int count, IntFunction<DataSet> maker) {
        this.count = count;
        this.maker = maker;
    }

    /** Images in new arrays that were written on the host, as an image loader does, and one of {@code classes} for each. */
    static DataSet images(int seed, int classes, long... shape) {
        INDArray labels = Nd4j.zeros((int) shape[0], classes);
        Random random = new Random(seed);
        for (int i = 0; i < shape[0]; i++) {
            labels.putScalar(i, random.nextInt(classes), 1);
        }
        INDArray images = Nd4j.createUninitialized(DataType.FLOAT, shape);
        float[] values = new float[(int) images.length()];
        int bits = seed * 0x9E3779B9 + 1;
        for (int i = 0; i < values.length; i++) {
            bits ^= bits << 13;
            bits ^= bits >>> 17;
            bits ^= bits << 5;
            values[i] = (bits >>> 8) * 0x1p-24f;
        }
        Nd4j.getAffinityManager().ensureLocation(images, AffinityManager.Location.HOST);
        new FloatPointer(images.data().pointer()).put(values);
        Nd4j.getAffinityManager().tagLocation(images, AffinityManager.Location.HOST);
        return new DataSet(images, labels);
    }

    @Override
    public boolean hasNext() {
        return next < count;
    }

    @Override
    public DataSet next() {
        return maker.apply(next++);
    }

    @Override
    public DataSet next(int num) {
        throw new UnsupportedOperationException();
    }

    @Override
    public int inputColumns() {
        throw new UnsupportedOperationException();
    }

    @Override
    public int totalOutcomes() {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean resetSupported() {
        return true;
    }

    @Override
    public boolean asyncSupported() {
        return true;
    }

    @Override
    public void reset() {
        next = 0;
    }

    @Override
    public int batch() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void setPreProcessor(@Nullable DataSetPreProcessor preProcessor) {
        throw new UnsupportedOperationException();
    }

    @Override
    public @Nullable DataSetPreProcessor getPreProcessor() {
        return null;
    }

    @Override
    public List<String> getLabels() {
        return List.of();
    }
}
