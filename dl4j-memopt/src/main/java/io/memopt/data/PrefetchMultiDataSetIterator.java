// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import java.lang.ref.Cleaner;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.nd4j.linalg.dataset.api.MultiDataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.MultiDataSetIterator;

/**
 * Reads a {@link MultiDataSetIterator} ahead, on threads of its own, while training computes:
 *
 * <pre>{@code
 * try (PrefetchMultiDataSetIterator data = new PrefetchMultiDataSetIterator(base, PrefetchOptions.DEFAULTS, batch -> decode(batch))) {
 *     network.fit(data, epochs);
 *     System.out.println(data.statistics());
 * }
 * }</pre>
 *
 * <p>One thread reads the base iterator; {@link PrefetchOptions#threads} others run the preparation and the preprocessor set
 * here, so both must be safe to run for several batches at once; the base iterator's own preprocessor runs where it always
 * did. Batches come out in the order of the base iterator, and with the same bits unless the preparation draws random numbers
 * that depend on what other batches draw. On CUDA, the threads bring all arrays to the device before they hand a batch out.
 *
 * <p>Arrays handed out are in no workspace. Reading begins with the first question for a batch. What is thrown while a batch
 * is read or prepared reaches the caller of {@link #next()} as the cause of a {@link PrefetchException}, after the batches
 * before it. Threads are daemons that end on {@link #close()}, ten seconds after the last batch, and when nobody holds the
 * iterator any more.
 *
 * <p>{@link #asyncSupported()} is false, so Deeplearning4j adds no prefetching of its own.
 *
 * <p>Threading: batches are asked for by one thread at a time; {@link #close()} and {@link #statistics()} may be called by any.
 */
public final class PrefetchMultiDataSetIterator implements MultiDataSetIterator, AutoCloseable {
    private static final long serialVersionUID = 1;
    private static final Cleaner CLEANER = Cleaner.create();

    private final transient MultiDataSetIterator base;
    private final transient UnaryOperator<MultiDataSet> preparation;
    private final transient Prefetcher<MultiDataSet> prefetcher;
    private transient @Nullable MultiDataSetPreProcessor preProcessor;
    /** Must not refer to this iterator: threads that hold it would keep it. */
    private transient UnaryOperator<MultiDataSet> work;

    /** As {@link #PrefetchMultiDataSetIterator(MultiDataSetIterator, PrefetchOptions)} with {@link PrefetchOptions#DEFAULTS}. */
    public PrefetchMultiDataSetIterator(MultiDataSetIterator base) {
        this(base, PrefetchOptions.DEFAULTS);
    }

    /** As the constructor with a preparation, but the batches of {@code base} are ready as they are. */
    public PrefetchMultiDataSetIterator(MultiDataSetIterator base, PrefetchOptions options) {
        this(base, options, UnaryOperator.identity());
    }

    /**
     * Reads {@code base} ahead. From now on it must be used through this iterator alone.
     *
     * @param preparation makes the batch that is handed out of the one that was read, e.g. decodes it; on several threads.
     *     It must not refer to this iterator
     * @throws IllegalArgumentException if {@code base} does not support to be read ahead and {@code options} do not insist
     */
    public PrefetchMultiDataSetIterator(
            MultiDataSetIterator base, PrefetchOptions options, UnaryOperator<MultiDataSet> preparation) {
        this.base = Objects.requireNonNull(base, "base");
        this.preparation = Objects.requireNonNull(preparation, "preparation");
        options.requireReadAhead(base, base.asyncSupported());
        this.work = preparation;
        this.prefetcher = new Prefetcher<>(new Base(base), new MultiDataSetArrays(), options);
        CLEANER.register(this, prefetcher::abandon);
    }

    /** What prefetching did so far, all passes together. */
    public PrefetchStatistics statistics() {
        return prefetcher.statistics();
    }

    @Override
    public boolean hasNext() {
        return prefetcher.hasNext(work);
    }

    @Override
    public MultiDataSet next() {
        return prefetcher.next(work);
    }

    /** Not supported: sizes of batches are the base iterator's. */
    @Override
    public MultiDataSet next(int num) {
        throw new UnsupportedOperationException(
                "next(" + num + "): batches that are read ahead have the base iterator's size");
    }

    @Override
    public boolean resetSupported() {
        return base.resetSupported();
    }

    /** False: this is the prefetching already. */
    @Override
    public boolean asyncSupported() {
        return false;
    }

    /** Waits for the batches in work, drops what was read ahead, and resets the base iterator. */
    @Override
    public void reset() {
        prefetcher.reset();
    }

    /**
     * {@code value} runs after the preparation, on several threads.
     *
     * @throws IllegalStateException between the first question for a batch and the next {@link #reset()}
     */
    @Override
    public void setPreProcessor(@Nullable MultiDataSetPreProcessor value) {
        prefetcher.requireIdle();
        preProcessor = value;
        work = value == null ? preparation : preprocessed(preparation, value);
    }

    /** The one set here, or else the base iterator's. */
    @Override
    public @Nullable MultiDataSetPreProcessor getPreProcessor() {
        return preProcessor == null ? base.getPreProcessor() : preProcessor;
    }

    /** Ends the threads; there are no more batches. The base iterator is not closed, and stays at the batch read last. */
    @Override
    public void close() {
        prefetcher.close();
    }

    private static UnaryOperator<MultiDataSet> preprocessed(
            UnaryOperator<MultiDataSet> preparation, MultiDataSetPreProcessor preProcessor) {
        return batch -> {
            MultiDataSet prepared = preparation.apply(batch);
            preProcessor.preProcess(prepared);
            return prepared;
        };
    }

    /** The base iterator, as the threads see it. */
    private record Base(MultiDataSetIterator iterator) implements Source<MultiDataSet> {
        @Override
        public boolean hasNext() {
            return iterator.hasNext();
        }

        @Override
        public MultiDataSet next() {
            return iterator.next();
        }

        @Override
        public void reset() {
            iterator.reset();
        }
    }
}
