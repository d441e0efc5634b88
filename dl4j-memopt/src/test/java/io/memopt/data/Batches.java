// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.DataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

/** Makes a new batch for each number, as a reader of files would. */
final class Batches implements DataSetIterator {
    private static final long serialVersionUID = 1;

    /** Batches made so far, all passes together. */
    final transient AtomicInteger made = new AtomicInteger();
    /** What {@link #asyncSupported()} says. */
    boolean async = true;

    private final int count;
    private final transient IntFunction<DataSet> maker;
    private transient @Nullable DataSetPreProcessor preProcessor;
    private int next;

    Batches(int count, IntFunction<DataSet> maker) {
        this.count = count;
        this.maker = maker;
    }

    @Override
    public boolean hasNext() {
        return next < count;
    }

    @Override
    public DataSet next() {
        DataSet batch = maker.apply(next++);
        made.incrementAndGet();
        if (preProcessor != null) {
            preProcessor.preProcess(batch);
        }
        return batch;
    }

    @Override
    public DataSet next(int num) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void reset() {
        next = 0;
    }

    @Override
    public boolean resetSupported() {
        return true;
    }

    @Override
    public boolean asyncSupported() {
        return async;
    }

    @Override
    public int inputColumns() {
        return 3;
    }

    @Override
    public int totalOutcomes() {
        return 2;
    }

    @Override
    public int batch() {
        return 4;
    }

    @Override
    public void setPreProcessor(@Nullable DataSetPreProcessor value) {
        preProcessor = value;
    }

    @Override
    public @Nullable DataSetPreProcessor getPreProcessor() {
        return preProcessor;
    }

    @Override
    public List<String> getLabels() {
        return List.of("a", "b");
    }
}
