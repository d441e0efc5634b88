// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import java.util.List;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.DataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

/**
 * The part of a {@link DataSetIterator} that is the same for every kind of data: it counts batches and makes each when
 * asked. DL4J's {@code fit} runs such an iterator on a prefetching thread of its own.
 *
 * <p>Threading: one thread at a time.
 */
abstract class Batches implements DataSetIterator {
    private static final long serialVersionUID = 1L;

    private final int batch;
    private int next;

    /** @param batch the most examples in a batch, at least 1 */
    Batches(int batch) {
        if (batch < 1) {
            throw new IllegalArgumentException("batch=" + batch + ", expected at least 1");
        }
        this.batch = batch;
    }

    /** How many batches there are in an epoch. */
    public abstract int count();

    /** Makes batch {@code index} of the current epoch. */
    abstract DataSet make(int index);

    /** Called before each epoch but the first. */
    abstract void startEpoch();

    @Override
    public final boolean hasNext() {
        return next < count();
    }

    @Override
    public final DataSet next() {
        if (!hasNext()) {
            throw new NoSuchElementException("all " + count() + " batches were given; call reset()");
        }
        return make(next++);
    }

    @Override
    public final DataSet next(int examples) {
        throw new UnsupportedOperationException("batches have a fixed size of " + batch);
    }

    @Override
    public final void reset() {
        next = 0;
        startEpoch();
    }

    @Override
    public final int batch() {
        return batch;
    }

    @Override
    public final boolean resetSupported() {
        return true;
    }

    @Override
    public final boolean asyncSupported() {
        return true;
    }

    @Override
    public final void setPreProcessor(DataSetPreProcessor preProcessor) {
        throw new UnsupportedOperationException("batches come prepared");
    }

    @Override
    @SuppressWarnings("NullAway") // null is this interface's way to say that there is none
    public final @Nullable DataSetPreProcessor getPreProcessor() {
        return null;
    }

    @Override
    public List<String> getLabels() {
        return List.of();
    }
}
