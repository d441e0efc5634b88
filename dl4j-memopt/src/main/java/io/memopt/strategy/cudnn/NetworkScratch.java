// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.ConvolutionAlgorithm;
import io.memopt.allocator.cudnn.ConvolutionPass;
import io.memopt.allocator.cudnn.ConvolutionShape;
import io.memopt.allocator.cudnn.LayerEngine;
import io.memopt.allocator.cudnn.LayerEngineException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.rng.Random;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The scratch memory of the convolutions of one network: which passes want it, how much time what amount is worth, and a limit.
 *
 * <p>Threading: the thread that trains the network.
 */
public final class NetworkScratch {
    /** No limit but that of the settings. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    private static final Logger log = LoggerFactory.getLogger(NetworkScratch.class);

    private final LayerEngine engine;
    private final Convolutions settings;
    private final Runnable limited;
    private volatile long limit = UNLIMITED;
    private volatile long aloneLimit = UNLIMITED;
    private long keptBytes;
    private volatile @Nullable Listener listener;

    /** Hears of each pass that an engine is about to compute. */
    public interface Listener {
        void computing(ConvolutionShape shape, ConvolutionPass pass);
    }

    /**
     * Without limits.
     *
     * @param limited called after each change of {@link #limitBytes} or {@link #aloneLimitBytes}
     */
    NetworkScratch(LayerEngine engine, Convolutions settings, Runnable limited) {
        this.engine = engine;
        this.settings = settings;
        this.limited = limited;
    }

    /** With the limits of {@code before}, in whose place it comes. */
    NetworkScratch after(NetworkScratch before) {
        limit = before.limit;
        aloneLimit = before.aloneLimit;
        return this;
    }

    /** What decides which ways there are and what they take, e.g. library, device and settings: in one line. */
    public String description() {
        return engine.description() + " " + settings.withoutCache();
    }

    /** Has {@code hears} hear of passes from now on; null for nobody. */
    public void listener(@Nullable Listener hears) {
        listener = hears;
    }

    void computing(ConvolutionShape shape, ConvolutionPass pass) {
        Listener hears = listener;
        if (hears != null) {
            hears.computing(shape, pass);
        }
    }

    /**
     * From now on passes take ways with at most {@code bytes} of scratch memory where they have one, or else the one with the least; see
     * {@link LayerEngine#limitScratch}. The smallest limit of all networks counts for each of them.
     */
    public void limit(long bytes) {
        limit(bytes, UNLIMITED);
    }

    /**
     * As {@link #limit(long)}.
     *
     * @param aloneBytes most of it that does not lie in an arena
     */
    public void limit(long bytes, long aloneBytes) {
        limit = bytes;
        aloneLimit = aloneBytes;
        limited.run();
    }

    long limitBytes() {
        return limit;
    }

    long aloneLimitBytes() {
        return aloneLimit;
    }

    void keeps(long bytes) {
        keptBytes += bytes;
    }

    /** Bytes of arrays that helpers of the network make with its first pass and keep, or Deeplearning4j for them: statistics, biases of layers without. */
    public long keptBytes() {
        return keptBytes;
    }

    /** How a pass would be computed under a limit of {@code bytes}, as far as ways are known; see {@link LayerEngine#chosenWithin}. */
    public Optional<ConvolutionAlgorithm> chosenWithin(ConvolutionShape shape, ConvolutionPass pass, long bytes) {
        return engine.chosenWithin(shape, pass, bytes);
    }

    /** Whether ways of a pass were looked for, within the limit there was. */
    public boolean isKnown(ConvolutionShape shape, ConvolutionPass pass) {
        return engine.table(shape, pass).isPresent();
    }

    /** Whether what {@link ConvolutionAlgorithm#nanos} says of the ways of a pass are times. */
    public boolean isMeasured(ConvolutionShape shape, ConvolutionPass pass) {
        return engine.table(shape, pass).filter(table -> table.measured()).isPresent();
    }

    /**
     * Has the engine find out the ways of all passes of convolutions of {@code shapes}, on random numbers and one convolution after the
     * other, with the memory that its arrays take in training and at most the scratch memory of the limit. ND4J's random state is as before.
     */
    public void measure(Collection<ConvolutionShape> shapes) {
        Random random = Nd4j.getRandom();
        long root = random.rootState();
        long node = random.nodeState();
        try {
            shapes.forEach(this::measure);
        } catch (LayerEngineException e) {
            log.debug("Not all convolutions could be measured: {}", e.toString());
        } finally {
            random.setStates(root, node);
        }
    }

    /** Bytes of the arrays that {@link #measure} makes at once for a convolution of {@code shape}. */
    public static long arrayBytes(ConvolutionShape shape) {
        return Float.BYTES * (shape.batch() * (2 * shape.inputItem() + shape.outputItem()) + 2 * shape.weights());
    }

    private void measure(ConvolutionShape shape) {
        int[] x = {shape.batch(), shape.channels(), shape.height(), shape.width()};
        int[] w = {shape.filters(), shape.channels() / shape.groups(), shape.kernelHeight(), shape.kernelWidth()};
        int[] y = {shape.batch(), shape.filters(), shape.outHeight(), shape.outWidth()};
        List<INDArray> arrays = new ArrayList<>();
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            for (int[] sizes : new int[][] {x, w, y, x, w}) {
                arrays.add(Nd4j.createUninitialized(
                        DataType.FLOAT, Arrays.stream(sizes).asLongStream().toArray(), 'c'));
            }
            Nd4j.rand(arrays.get(0));
            Nd4j.rand(arrays.get(1));
            engine.forward(shape, arrays.get(0), arrays.get(1), null, arrays.get(2));
            engine.backward(shape, arrays.get(0), arrays.get(1), arrays.get(2), arrays.get(3), arrays.get(4), null);
        } finally {
            Nd4j.getExecutioner().commit();
            arrays.forEach(INDArray::close);
        }
    }
}
