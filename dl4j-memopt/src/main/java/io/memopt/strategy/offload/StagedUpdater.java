// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import java.util.List;
import java.util.Map;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;

/** An updater whose state comes in parts. What it is asked of its state is that on the host. Threading: the training thread. */
@SuppressWarnings({"rawtypes", "unchecked"})
final class StagedUpdater implements GradientUpdater {
    private final GradientUpdater own;
    private final StagedState state;
    private final List<Integer> parts;

    StagedUpdater(GradientUpdater<?> own, StagedState state, List<Integer> parts) {
        this.own = own;
        this.state = state;
        this.parts = List.copyOf(parts);
    }

    @Override
    public IUpdater getConfig() {
        return own.getConfig();
    }

    @Override
    public void setState(Map stateMap, boolean initialize) {
        own.setState(stateMap, initialize);
    }

    @Override
    public Map<String, INDArray> getState() {
        return own.getState();
    }

    @Override
    public void setStateViewArray(INDArray viewArray, long[] gradientShape, char gradientOrder, boolean initialize) {
        own.setStateViewArray(viewArray, gradientShape, gradientOrder, initialize);
    }

    @Override
    public void applyUpdater(INDArray gradient, int iteration, int epoch) {
        INDArray flat = gradient.reshape(gradient.length());
        for (int part : parts) {
            state.update(part, flat, iteration, epoch);
        }
    }
}
