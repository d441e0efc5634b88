// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import static io.memopt.strategy.cudnn.DenseArrays.channelsFirst;
import static io.memopt.strategy.cudnn.DenseArrays.dense;
import static io.memopt.strategy.cudnn.DenseArrays.inFormat;
import static io.memopt.strategy.cudnn.DenseArrays.isDense;

import io.memopt.allocator.cudnn.LayerEngine;
import io.memopt.allocator.cudnn.LayerEngineException;
import io.memopt.allocator.cudnn.NormalizationEngine.Statistics;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.layers.normalization.BatchNormalizationHelper;
import org.deeplearning4j.nn.params.BatchNormalizationParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * Computes one batch normalisation layer by an engine, as {@link EngineConvolution} does convolutions. Holds two numbers for
 * each channel from a forward pass in training to its backward pass, and nothing of the input's size.
 *
 * <p>Threading: as the layer, one thread at a time.
 */
final class EngineNormalization implements BatchNormalizationHelper {
    /** That a layer keeps by itself, of one float for each channel. */
    static final int ARRAYS = 2;

    private final LayerEngine engine;
    private final String layer;
    private final Refusals refusals;
    private final Runnable dropBuiltIn;
    private @Nullable Statistics statistics;
    private double epsilon;
    /** A forward pass in training was computed here, and its backward pass has not been asked for. */
    private boolean pending;

    private boolean failed;
    private @Nullable Runnable removal;
    /** The layer's part of the network's running statistics; null when the layer keeps its own. */
    private RunningStatistics.@Nullable Member member;
    /** Puts the layer back that another stands for, and answers it; null when none does. */
    private @Nullable Supplier<@Nullable BatchNormalization> original;

    /**
     * For one layer.
     *
     * @param dropBuiltIn makes the layer forget arrays of an earlier built-in forward pass: left there, they would be taken for
     *     those of the latest one should the backward pass go to the built-in path
     */
    EngineNormalization(LayerEngine engine, String layer, Refusals refusals, Runnable dropBuiltIn) {
        this.engine = engine;
        this.layer = layer;
        this.refusals = refusals;
        this.dropBuiltIn = dropBuiltIn;
    }

    /**
     * The layer has another in its place.
     *
     * @param statistics where statistics go
     * @param giveBack ends that, and answers the layer; null when it is gone
     */
    void standIn(RunningStatistics.Member statistics, Supplier<@Nullable BatchNormalization> giveBack) {
        member = statistics;
        original = giveBack;
    }

    RunningStatistics.@Nullable Member member() {
        return member;
    }

    /** True when it computes nothing any more. */
    boolean isOver() {
        return failed;
    }

    /** Ends what {@link #standIn} began; null when nothing was begun. */
    @Nullable
    BatchNormalization giveBack() {
        Supplier<@Nullable BatchNormalization> known = original;
        original = null;
        member = null;
        BatchNormalization layer = known == null ? null : known.get();
        removeIfRetired();
        return layer;
    }

    @Override
    public @Nullable INDArray preOutput(
            INDArray input,
            boolean training,
            long[] shape,
            @Nullable INDArray gamma,
            @Nullable INDArray beta,
            INDArray mean,
            INDArray variance,
            double decay,
            double eps,
            CNN2DFormat format,
            LayerWorkspaceMgr workspaces) {
        removeIfRetired();
        pending = pending && !training;
        if (gamma == null || beta == null || !supported(input)) {
            return null;
        }
        // Dense layers' outputs come as [batch, channels, 1, 1] whatever the format says.
        CNN2DFormat actual = input.size(1) == mean.length() && input.size(3) == 1 ? CNN2DFormat.NCHW : format;
        INDArray x = dense(channelsFirst(input, actual));
        INDArray y = workspaces.createUninitialized(ArrayType.ACTIVATIONS, DataType.FLOAT, x.shape(), 'c');
        boolean done = guarded(() -> {
            if (training) {
                engine.normalizeTraining(x, dense(gamma), dense(beta), eps, y, statisticsLike(mean));
            } else {
                engine.normalizeInference(x, dense(gamma), dense(beta), dense(mean), dense(variance), eps, y);
            }
        });
        if (!done) {
            return null;
        }
        if (training) {
            epsilon = eps;
            pending = true;
            dropBuiltIn.run();
            forwarded();
        }
        return inFormat(y, actual);
    }

    @Override
    public @Nullable Pair<Gradient, INDArray> backpropGradient(
            INDArray input,
            INDArray delta,
            long[] shape,
            INDArray gamma,
            @Nullable INDArray beta,
            INDArray dGamma,
            INDArray dBeta,
            double eps,
            CNN2DFormat format,
            LayerWorkspaceMgr workspaces) {
        Statistics known = statistics;
        if (known == null || !pending || !supported(input) || !isDense(dGamma) || !isDense(dBeta)) {
            return null;
        }
        INDArray x = dense(channelsFirst(input, format));
        INDArray dy = dense(channelsFirst(delta, format));
        INDArray dx = workspaces.createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.FLOAT, x.shape(), 'c');
        if (!guarded(() -> engine.normalizeBackward(x, dy, dense(gamma), eps, dx, dGamma, dBeta, known))) {
            return null;
        }
        pending = false;
        Gradient gradient = new DefaultGradient();
        gradient.setGradientFor(BatchNormalizationParamInitializer.GAMMA, dGamma);
        gradient.setGradientFor(BatchNormalizationParamInitializer.BETA, dBeta);
        return new Pair<>(gradient, inFormat(dx, format));
    }

    @Override
    public INDArray getMeanCache(DataType type) {
        return known().mean();
    }

    /** The variance of the latest minibatch, in an array of the caller's own. */
    @Override
    public INDArray getVarCache(DataType type) {
        INDArray inverse = known().inverseDeviation();
        INDArray variance = inverse.mul(inverse).rdivi(1.0).subi(epsilon);
        return Transforms.max(variance, 0.0, false);
    }

    private void forwarded() {
        RunningStatistics.Member known = member;
        if (known != null) {
            known.forwarded();
        }
    }

    private Statistics known() {
        return Objects.requireNonNull(statistics, "no forward pass of layer " + layer + " was computed here");
    }

    /** Made once and outside workspaces: its content must last from one pass to the next. */
    private Statistics statisticsLike(INDArray mean) {
        Statistics known = statistics;
        if (known == null) {
            RunningStatistics.Member part = member;
            known = part == null ? ownStatistics(mean.shape()) : part.statistics(mean.shape());
            statistics = known;
        }
        return known;
    }

    private static Statistics ownStatistics(long[] shape) {
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return new Statistics(Nd4j.create(DataType.FLOAT, shape), Nd4j.create(DataType.FLOAT, shape));
        }
    }

    private boolean supported(INDArray input) {
        if (failed || input.rank() != 4) {
            return false;
        }
        if (input.dataType() != DataType.FLOAT) {
            refusals.say(layer, "its type is " + input.dataType() + ", expected FLOAT.");
            return false;
        }
        return input.length() <= Integer.MAX_VALUE;
    }

    private boolean guarded(Runnable computation) {
        try {
            computation.run();
            return true;
        } catch (LayerEngineException e) {
            failed = true;
            refusals.say(layer, String.valueOf(e.getMessage()));
            return false;
        }
    }

    @Override
    public Map<String, Long> helperMemoryUse() {
        Statistics known = statistics;
        return known == null
                ? Map.of()
                : Map.of("statistics", 2L * Float.BYTES * known.mean().length());
    }

    @Override
    public boolean checkSupported() {
        return true;
    }

    @Override
    public boolean checkSupported(double eps, boolean fixedGammaBeta) {
        return true;
    }

    /**
     * Computes nothing from now on and has itself removed by {@code remover}: at once, or, amid an iteration, with the next
     * forward pass, because the built-in backward pass asks it for the statistics of a forward pass that was computed here.
     */
    void retire(Runnable remover) {
        failed = true;
        removal = remover;
        if (!pending) {
            giveBack();
        }
    }

    private void removeIfRetired() {
        Runnable remover = removal;
        if (remover == null) {
            return;
        }
        remover.run();
        Statistics known = statistics;
        statistics = null;
        if (known != null && known.mean().closeable()) {
            known.mean().close();
            known.inverseDeviation().close();
        }
    }
}
