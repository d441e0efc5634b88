// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.strategy.UpdaterState;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.updater.UpdaterUtils;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.Regularization;

/**
 * What an update of a network consists of: blocks of parameters that are configured alike, joined as Deeplearning4j joins them, each with
 * a few elements of each parameter, and how many elements updaters and penalties go over in truth. Blocks write into the first
 * elements of the gradients; parameters and the network's updater state are not touched. Threading: confined.
 */
final class UpdateWork {
    private final INDArray parameters;
    private final INDArray gradients;
    private final int few;
    private final List<List<UpdaterBlock.ParamState>> runs = new ArrayList<>();
    private final Map<IUpdater, Long> updaters = new LinkedHashMap<>();
    private final Map<List<Regularization>, Long> penalties = new LinkedHashMap<>();
    private int offset;

    private UpdateWork(Model model, INDArray gradients, int few) {
        this.parameters = model.params().reshape(1, gradients.length());
        this.gradients = gradients.reshape(1, gradients.length());
        this.few = few;
    }

    /** With at most {@code few} elements of each parameter in a block. */
    static UpdateWork of(Model model, INDArray gradients, int few) {
        UpdateWork work = new UpdateWork(model, gradients, few);
        for (Trainable part : UpdaterState.parts(model)) {
            Map<String, INDArray> parameters = part.paramTable(false);
            if (parameters != null) {
                parameters.forEach((name, parameter) -> work.add(part, name, parameter.length()));
            }
        }
        return work;
    }

    /** Elements by updater. */
    Map<IUpdater, Long> updaters() {
        return updaters;
    }

    /** Elements by penalties that are applied one after the other. */
    Map<List<Regularization>, Long> penalties() {
        return penalties;
    }

    /** Without their updaters, which are to be made from {@link UpdaterBlock#setUpdaterView} on. */
    List<UpdaterBlock> blocks() {
        return runs.stream().map(this::block).toList();
    }

    private UpdaterBlock block(List<UpdaterBlock.ParamState> run) {
        int from = run.get(0).getParamOffsetStart();
        int to = run.get(run.size() - 1).getParamOffsetEnd();
        UpdaterBlock block = new UpdaterBlock(from, to, 0, 0, run);
        block.setGradientView(view(gradients, from, to));
        return block;
    }

    private void add(Trainable part, String name, long length) {
        IUpdater updater = part.getConfig().getUpdaterByParam(name);
        if (updater == null || length == 0) {
            return;
        }
        updaters.merge(updater, length, Long::sum);
        List<Regularization> its = part.getConfig().getRegularizationByParam(name);
        if (its != null && !its.isEmpty()) {
            penalties.merge(its, length, Long::sum);
        }
        UpdaterBlock.ParamState last = last();
        if (last == null
                || !UpdaterUtils.updaterConfigurationsEquals(last.getLayer(), last.getParamName(), part, name)) {
            runs.add(new ArrayList<>());
        }
        int to = offset + (int) Math.min(length, few);
        runs.get(runs.size() - 1)
                .add(new UpdaterBlock.ParamState(
                        part, name, offset, to, view(parameters, offset, to), view(gradients, offset, to)));
        offset = to;
    }

    private UpdaterBlock.@Nullable ParamState last() {
        if (runs.isEmpty()) {
            return null;
        }
        List<UpdaterBlock.ParamState> run = runs.get(runs.size() - 1);
        return run.get(run.size() - 1);
    }

    private static INDArray view(INDArray flat, long from, long to) {
        return flat.get(NDArrayIndex.all(), NDArrayIndex.interval(from, to));
    }
}
