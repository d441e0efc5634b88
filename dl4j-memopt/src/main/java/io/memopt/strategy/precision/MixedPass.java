// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.precision;

import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TrainingObserver;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.NormalizationResidue;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.reduce.longer.MatchCondition;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.indexing.conditions.Conditions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Computes the gradients of a FLOAT network in half precision, by a copy of it that gets the rounded parameters before each pass.
 * The loss is scaled, see {@link LossScale}; gradients are divided by the scale in single precision, but for statistics that are no
 * derivatives of the loss, as running means. Updates with gradients that are no numbers are left out.
 *
 * <p>Exactness {@code LOSSY}. Memory: activations are half as large; one more copy of parameters and gradients, in half precision,
 * is kept. What batch normalisations of the copy leave to the Java garbage collector is freed. Listeners are told of passes as of the network's own, with activations in half precision. Threading: the training thread.
 */
public final class MixedPass implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(MixedPass.class);

    private final LossScale scale = new LossScale();
    private final Model half;
    private final TrainingTracker tracker;
    private final List<long[]> unscaled = new ArrayList<>();
    private final List<NormalizationResidue> residues;
    /** Sees the end of the forward pass, after which batch normalisations hold what their backward pass drops. */
    private final TrainingObserver sweeper = new TrainingObserver() {
        @Override
        public void phaseEnded(String network, Phase phase, long nanos) {
            sweep();
        }
    };

    private long updates;
    private long skipped;
    private boolean told;
    private long markedUpdates;
    private long markedSkipped;

    /**
     * For {@code network}.
     *
     * @throws IllegalArgumentException if {@link HalfSettings#refusal} says why it cannot be
     */
    public MixedPass(Model network, TrainingTracker tracker) {
        HalfSettings.refusal(network).ifPresent(why -> {
            throw new IllegalArgumentException(why);
        });
        this.half = HalfNetwork.of(network, scale);
        this.residues = NormalizationResidue.of(NetworkAccess.layers(half));
        this.tracker = tracker;
        for (Layer layer : NetworkAccess.layers(network)) {
            layer.paramTable().forEach((name, parameter) -> {
                if (!layer.updaterDivideByMinibatch(name)) {
                    unscaled.add(new long[] {parameter.offset(), parameter.offset() + parameter.length()});
                }
            });
        }
    }

    /** An iteration begins, which may have to be undone. */
    public void mark() {
        scale.mark();
        markedUpdates = updates;
        markedSkipped = skipped;
    }

    /** Forgets what was learnt from gradients since {@link #mark}. */
    public void rollBack() {
        scale.rollBack();
        updates = markedUpdates;
        skipped = markedSkipped;
    }

    /** The copy that computes. */
    public Model half() {
        return half;
    }

    /** Computes gradients and score of the minibatch that {@code network} holds; {@code pass} computes those of the copy. */
    public void compute(Model network, Consumer<Model> pass) {
        tracker.computedBy(network, half);
        tracker.goesOn(network, Phase.FORWARD, 0);
        half.params().assign(network.params());
        tracker.addObserver(sweeper);
        try (HalfMinibatch minibatch = new HalfMinibatch()) {
            minibatch.give(network, half);
            pass.accept(half);
        } finally {
            tracker.removeObserver(sweeper);
            sweep();
        }
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray gradients = NetworkAccess.flatGradients(network);
            unscale(NetworkAccess.flatGradients(half), gradients);
            NetworkAccess.gradient(network, named(half.gradient(), gradients));
        }
        NetworkAccess.score(network, half.score() + NetworkAccess.regularization(network));
    }

    private void sweep() {
        residues.forEach(NormalizationResidue::sweep);
    }

    private void unscale(INDArray from, INDArray to) {
        to.assign(from.reshape(to.shape()));
        to.muli(1 / scale.value());
        for (long[] range : unscaled) {
            to.reshape(to.length())
                    .get(NDArrayIndex.interval(range[0], range[1]))
                    .muli(scale.value());
        }
    }

    /** The parts of {@code flat} that are where those of the copy's gradients are. */
    private static Gradient named(Gradient halves, INDArray flat) {
        Gradient gradient = new DefaultGradient(flat);
        halves.gradientForVariable().forEach((name, part) -> {
            INDArray same = Nd4j.create(flat.data(), part.shape(), part.stride(), part.offset(), part.ordering());
            gradient.setGradientFor(name, same, halves.flatteningOrderForVariable(name));
        });
        return gradient;
    }

    /** Whether {@code gradients}, of one update, are to be used; the scale follows from it. */
    public boolean accepts(INDArray gradients) {
        boolean finite = isFinite(gradients);
        scale.learn(finite);
        updates++;
        if (!finite) {
            skipped++;
            tellSkipped();
        }
        return finite;
    }

    private static boolean isFinite(INDArray gradients) {
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            MatchCondition count = new MatchCondition(gradients, Conditions.notFinite());
            return Nd4j.getExecutioner().exec(count).getLong(0) == 0;
        }
    }

    private void tellSkipped() {
        if (!told && scale.value() == LossScale.LEAST) {
            told = true;
            log.warn(
                    "Gradients are no numbers in half precision even with the loss scaled by {}: {} of {} updates were left"
                            + " out. Use smaller inputs or learning rates, or train in single precision.",
                    scale.value(),
                    skipped,
                    updates);
        }
    }

    /** Gives the memory of the copy back, which computes no more. */
    @Override
    public void close() {
        close(half.params());
        close(half.getGradientsViewArray());
    }

    private static void close(@Nullable INDArray array) {
        if (array != null && array.closeable()) {
            array.close();
        }
    }

    /** Bytes of the copy's parameters and gradients, for a network of {@code parameters} elements. */
    public static long copyBytes(long parameters) {
        return 2 * parameters * DataType.FLOAT16.width();
    }

    /** One sentence on scale, skipped updates and memory. */
    public String note() {
        return String.format(
                Locale.ROOT,
                "Mixed precision: gradients in HALF, loss scaled by %.10s; %d of %d updates left out because gradients were no"
                        + " numbers; the copy's parameters and gradients take %s.",
                scale.value(),
                skipped,
                updates,
                ByteSize.format(copyBytes(half.params().length())));
    }
}
