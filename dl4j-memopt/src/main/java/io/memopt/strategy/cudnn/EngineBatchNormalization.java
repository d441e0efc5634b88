// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import static io.memopt.strategy.cudnn.DenseArrays.isDense;
import static org.deeplearning4j.nn.params.BatchNormalizationParamInitializer.BETA;
import static org.deeplearning4j.nn.params.BatchNormalizationParamInitializer.GAMMA;
import static org.deeplearning4j.nn.params.BatchNormalizationParamInitializer.GLOBAL_LOG_STD;
import static org.deeplearning4j.nn.params.BatchNormalizationParamInitializer.GLOBAL_MEAN;

import java.util.Objects;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.jspecify.annotations.Nullable;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A batch normalisation layer in the place of Deeplearning4j's while its helper is an engine's. Computes what the layer computes, but
 * for two things around the helper that take more of the host's time than all else: in training it does not work out the running
 * variance, which only inference reads, and it leaves the running statistics to {@link RunningStatistics}. Whatever is not training on
 * images goes the layer's own way.
 *
 * <p>Threading: as the layer, one thread at a time.
 */
final class EngineBatchNormalization extends BatchNormalization {
    private static final long serialVersionUID = 1;
    private static final int IMAGE_RANK = 4;
    private static final int CHANNELS_FIRST = 1;
    private static final int CHANNELS_LAST = 3;

    /** A helper, which snapshots of a layer's state leave out. */
    private final transient EngineNormalization engine;

    /** In the place of {@code original}, whose state it does not have yet. */
    EngineBatchNormalization(BatchNormalization original, EngineNormalization engine) {
        super(original.conf(), original.getParam(GLOBAL_MEAN).dataType());
        this.engine = engine;
    }

    /** True for layers that this class can stand for. */
    static boolean standsFor(BatchNormalization layer) {
        org.deeplearning4j.nn.conf.layers.BatchNormalization configuration = layer.layerConf();
        return configuration.isUseLogStd()
                && !configuration.isLockGammaBeta()
                && layer.getParam(GLOBAL_LOG_STD) != null;
    }

    @Override
    public INDArray preOutput(INDArray x, TrainingMode mode, LayerWorkspaceMgr workspaces) {
        BatchNormalization original = engine.isOver() ? engine.giveBack() : null;
        if (original != null) {
            return original.preOutput(x, mode, workspaces);
        }
        INDArray output = mode == TrainingMode.TRAIN && isImage(x) ? train(x, workspaces) : null;
        return output == null ? super.preOutput(x, mode, workspaces) : output;
    }

    private boolean isImage(INDArray x) {
        return x.rank() == IMAGE_RANK
                && x.dataType() == dataType
                && x.size(isChannelsFirst() ? CHANNELS_FIRST : CHANNELS_LAST)
                        == layerConf().getNOut();
    }

    private boolean isChannelsFirst() {
        return layerConf().getCnn2DFormat() == CNN2DFormat.NCHW;
    }

    private @Nullable INDArray train(INDArray x, LayerWorkspaceMgr workspaces) {
        INDArray mean = getParam(GLOBAL_MEAN);
        INDArray output = engine.preOutput(
                x,
                true,
                getShape(x),
                getParam(GAMMA),
                getParam(BETA),
                mean,
                mean, // in the place of the variance, which training does not read
                layerConf().getDecay(),
                layerConf().getEps(),
                layerConf().getCnn2DFormat(),
                workspaces);
        if (output != null) {
            xHat = null; // of an earlier forward pass by the built-in path
            xMu = null;
        }
        return output;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaces) {
        RunningStatistics.Member member = engine.member();
        Pair<Gradient, INDArray> result = null;
        if (member != null && epsilon.rank() == IMAGE_RANK && member.mayLeave() && areDense()) {
            result = leaveStatistics(member, epsilon, workspaces);
        }
        if (result == null) {
            result = super.backpropGradient(epsilon, workspaces);
        }
        if (member != null) {
            member.backwarded();
        }
        return result;
    }

    private boolean areDense() {
        return isDense(getParam(GLOBAL_MEAN))
                && isDense(getParam(GLOBAL_LOG_STD))
                && isDense(gradientView(GLOBAL_MEAN))
                && isDense(gradientView(GLOBAL_LOG_STD));
    }

    private INDArray gradientView(String parameter) {
        return Objects.requireNonNull(gradientViews.get(parameter), parameter);
    }

    private @Nullable Pair<Gradient, INDArray> leaveStatistics(
            RunningStatistics.Member member, INDArray epsilon, LayerWorkspaceMgr workspaces) {
        assertInputSet(true);
        Pair<Gradient, INDArray> result = engine.backpropGradient(
                input.castTo(dataType),
                epsilon,
                getShape(epsilon),
                getParam(GAMMA),
                getParam(BETA),
                gradientView(GAMMA),
                gradientView(BETA),
                layerConf().getEps(),
                layerConf().getCnn2DFormat(),
                workspaces);
        if (result != null) {
            INDArray meanUpdate = gradientView(GLOBAL_MEAN);
            INDArray logUpdate = gradientView(GLOBAL_LOG_STD);
            result.getFirst().setGradientFor(GLOBAL_MEAN, meanUpdate);
            result.getFirst().setGradientFor(GLOBAL_LOG_STD, logUpdate);
            member.leave(getParam(GLOBAL_MEAN), getParam(GLOBAL_LOG_STD), meanUpdate, logUpdate);
        }
        return result;
    }
}
