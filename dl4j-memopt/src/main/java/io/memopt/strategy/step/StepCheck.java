// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.offload.DeviceCopies;
import io.memopt.strategy.offload.Offload;
import io.memopt.strategy.precision.HalfSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.lossfunctions.impl.LossFMeasure;

/** Which networks a training step of ours would train to something else than what was promised. Threading: stateless. */
final class StepCheck {
    private StepCheck() {}

    /** Why {@code model} cannot be trained with {@code options}; empty when it can. */
    static Optional<String> refusal(Model model, StepOptions options) {
        if (options.equals(StepOptions.PLAIN)) {
            return Optional.empty();
        }
        OptimizationAlgorithm algorithm = model.conf().getOptimizationAlgo();
        if (algorithm != OptimizationAlgorithm.STOCHASTIC_GRADIENT_DESCENT) {
            return Optional.of(options + " but the network is optimised by " + algorithm
                    + ", expected STOCHASTIC_GRADIENT_DESCENT: others compute gradients several times for each update");
        }
        if (backpropType(model) != BackpropType.Standard) {
            return Optional.of(
                    options + " but the network is trained by " + backpropType(model)
                            + ", expected Standard: recurrent layers carry their state from one segment of a minibatch to the next");
        }
        Optional<String> sums = options.sums() ? sumRefusal(model, options) : Optional.empty();
        Optional<String> checkpoints = options.checkpoints() ? checkpointRefusal(model, options) : Optional.empty();
        Optional<String> precision = options.mixes() ? HalfSettings.refusal(model) : Optional.empty();
        return sums.or(() -> checkpoints).or(() -> precision).or(() -> offloadRefusal(options));
    }

    private static Optional<String> sumRefusal(Model model, StepOptions options) {
        Layer[] layers = NetworkAccess.layers(model);
        for (int i = 0; i < layers.length; i++) {
            String why = coupling(layers[i]);
            if (!why.isEmpty()) {
                return Optional.of("microBatch=" + options.microBatch() + ", accumulate=" + options.accumulate()
                        + " but layer " + nameOf(layers[i], i) + " " + why
                        + ", so that gradients of parts do not add up to those of the minibatch. Train whole minibatches, or"
                        + " use a layer whose examples do not depend on each other.");
            }
        }
        return Optional.empty();
    }

    /** How the examples of a minibatch depend on each other in {@code layer}; empty when they do not. */
    private static String coupling(Layer layer) {
        if (layer instanceof FrozenLayer || layer instanceof FrozenLayerWithBackprop) {
            return ""; // It works as in inference.
        }
        if (layer instanceof BaseWrapperLayer wrapper) {
            return coupling(wrapper.getUnderlying());
        }
        if (layer instanceof BatchNormalization) {
            return "(BatchNormalization) takes mean and variance of the examples that are computed together";
        }
        if (layer.paramTable() != null
                && layer.paramTable().keySet().stream().anyMatch(name -> !layer.updaterDivideByMinibatch(name))) {
            return "(" + layer.getClass().getSimpleName() + ") has parameters that are no means over examples";
        }
        if (layer.conf().getLayer() instanceof SameDiffOutputLayer) {
            return "(" + layer.getClass().getSimpleName()
                    + ") has a loss of its own, which may be no sum over examples";
        }
        if (layer.conf().getLayer() instanceof BaseOutputLayer output && output.getLossFn() instanceof LossFMeasure) {
            return "(" + layer.getClass().getSimpleName()
                    + ") has the loss LossFMeasure, which is of a whole minibatch";
        }
        if (layer.getClass().getSimpleName().equals("CenterLossOutputLayer")) {
            return "(CenterLossOutputLayer) moves its centres by the examples that are computed together";
        }
        return "";
    }

    private static Optional<String> checkpointRefusal(Model model, StepOptions options) {
        String asked = "activationShare=" + options.activationShare() + " but the network ";
        WorkspaceMode mode = trainingMode(model);
        if (mode == WorkspaceMode.NONE) {
            return Optional.of(asked
                    + "has WorkspaceMode.NONE, expected ENABLED for training and, in a graph, inference: without workspaces activations"
                    + " wait for the Java garbage collector, whatever is kept");
        }
        CacheMode cache = cacheMode(model);
        if (cache != null && cache != CacheMode.NONE) {
            return Optional.of(
                    asked + "has CacheMode." + cache + ", expected NONE: cached arrays would be kept all the same");
        }
        return Optional.empty();
    }

    private static Optional<String> offloadRefusal(StepOptions options) {
        if (options.outputOffload().isPresent() && !options.checkpoints()) {
            return Optional.of(
                    "offloadCheckpoints=" + options.outputOffload().get()
                            + " but activationShare=1, expected less: without checkpointing no output is kept for later segments");
        }
        return placeRefusal("offloadUpdaterState", options.stateOffload()).or(() -> outputOffloadRefusal(options));
    }

    /** Why checkpoints cannot lie where they are to, whatever is kept. */
    static Optional<String> outputOffloadRefusal(StepOptions options) {
        return placeRefusal("offloadCheckpoints", options.outputOffload());
    }

    private static Optional<String> placeRefusal(String setting, Optional<Offload> where) {
        if (where.isEmpty()) {
            return Optional.empty();
        }
        String asked = setting + "=" + where.get();
        Optional<Path> folder = where.get().folder();
        if (folder.isEmpty()) {
            return DeviceCopies.areThere()
                    ? Optional.empty()
                    : Optional.of(
                            asked + " but the backend is " + Nd4jFacts.backend()
                                    + ", expected a CUDA backend: arrays lie on the host already. Give a folder for mapped files.");
        }
        if (Nd4jFacts.isCuda()) {
            return Optional.of(asked + " but the backend is " + Nd4jFacts.backend()
                    + ", expected the CPU's: device memory cannot be a mapped file. Offload to HOST.");
        }
        return folder.filter(path -> !Files.isDirectory(path))
                .map(path -> asked + ", expected a directory that exists");
    }

    /** Graphs look at the mode for inference where they place gradients. */
    private static WorkspaceMode trainingMode(Model model) {
        if (model instanceof MultiLayerNetwork network) {
            return network.getLayerWiseConfigurations().getTrainingWorkspaceMode();
        }
        ComputationGraphConfiguration configuration = ((ComputationGraph) model).getConfiguration();
        return configuration.getInferenceWorkspaceMode() == WorkspaceMode.NONE
                ? WorkspaceMode.NONE
                : configuration.getTrainingWorkspaceMode();
    }

    private static @Nullable CacheMode cacheMode(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getLayerWiseConfigurations().getCacheMode()
                : ((ComputationGraph) model).getConfiguration().getCacheMode();
    }

    private static BackpropType backpropType(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getLayerWiseConfigurations().getBackpropType()
                : ((ComputationGraph) model).getConfiguration().getBackpropType();
    }

    private static String nameOf(Layer layer, int index) {
        String name =
                layer.conf().getLayer() == null ? null : layer.conf().getLayer().getLayerName();
        return name == null ? String.valueOf(index) : name;
    }
}
