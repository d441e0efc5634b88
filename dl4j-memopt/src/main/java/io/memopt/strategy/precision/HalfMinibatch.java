// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.precision;

import io.memopt.strategy.LayerMasks;
import io.memopt.strategy.NetworkAccess;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The minibatch that a network holds, in half precision, for the copy that computes. Labels stay as they are, since losses are
 * computed in single precision. Arrays lie outside workspaces until {@link #close}. Threading: confined.
 */
final class HalfMinibatch implements AutoCloseable {
    private final List<INDArray> made = new ArrayList<>();

    /** Hands the minibatch of {@code network} to {@code half}, with iteration and epoch. */
    void give(Model network, Model half) {
        try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            if (network instanceof MultiLayerNetwork layers) {
                give(layers, (MultiLayerNetwork) half);
            } else {
                give((ComputationGraph) network, (ComputationGraph) half);
            }
        }
    }

    private void give(MultiLayerNetwork network, MultiLayerNetwork half) {
        half.getLayerWiseConfigurations().setIterationCount(network.getIterationCount());
        half.getLayerWiseConfigurations().setEpochCount(network.getEpochCount());
        half.setInput(half(network.getInput()));
        half.setLabels(network.getLabels());
        LayerMasks.copy(network.getLayers(), half.getLayers(), this::half);
    }

    private void give(ComputationGraph network, ComputationGraph half) {
        half.getConfiguration().setIterationCount(network.getIterationCount());
        half.getConfiguration().setEpochCount(network.getEpochCount());
        half.setInputs(halves(network.getInputs()));
        half.setLabels(Objects.requireNonNull(NetworkAccess.labels(network), "labels"));
        half.setLayerMaskArrays(halves(network.getInputMaskArrays()), halves(network.getLabelMaskArrays()));
    }

    private @Nullable INDArray @Nullable [] halves(@Nullable INDArray @Nullable [] arrays) {
        if (arrays == null) {
            return null;
        }
        @Nullable INDArray[] halves = new INDArray[arrays.length];
        for (int i = 0; i < arrays.length; i++) {
            halves[i] = arrays[i] == null ? null : half(arrays[i]);
        }
        return halves;
    }

    private INDArray half(INDArray array) {
        if (array.dataType() == DataType.FLOAT16) {
            return array;
        }
        INDArray half = array.castTo(DataType.FLOAT16);
        made.add(half);
        return half;
    }

    @Override
    public void close() {
        made.forEach(INDArray::close);
        made.clear();
    }
}
