// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;

/** Which modes of a network's configuration cost memory, and the line that changes them. Threading: stateless. */
public final class ModeAdvice {
    private ModeAdvice() {}

    /**
     * One sentence for each mode that could be better; empty for Deeplearning4j's defaults. Following them changes no bit.
     *
     * @param name how the network is called in figures
     */
    public static List<String> of(String name, Model model) {
        return model instanceof MultiLayerNetwork network
                ? of(name, network.getLayerWiseConfigurations())
                : of(name, ((ComputationGraph) model).getConfiguration());
    }

    private static List<String> of(String name, MultiLayerConfiguration configuration) {
        return of(
                name,
                "getLayerWiseConfigurations()",
                configuration.getTrainingWorkspaceMode(),
                configuration.getInferenceWorkspaceMode(),
                configuration.getCacheMode());
    }

    private static List<String> of(String name, ComputationGraphConfiguration configuration) {
        return of(
                name,
                "getConfiguration()",
                configuration.getTrainingWorkspaceMode(),
                configuration.getInferenceWorkspaceMode(),
                configuration.getCacheMode());
    }

    private static List<String> of(
            String name, String getter, WorkspaceMode training, WorkspaceMode inference, @Nullable CacheMode cache) {
        List<String> advice = new ArrayList<>();
        if (training == WorkspaceMode.NONE) {
            advice.add(withoutWorkspaces(name, "trains", getter, "setTrainingWorkspaceMode"));
        }
        if (inference == WorkspaceMode.NONE) {
            advice.add(withoutWorkspaces(name, "infers", getter, "setInferenceWorkspaceMode"));
        }
        if (cache != null && cache != CacheMode.NONE) {
            advice.add(name + " has CacheMode." + cache
                    + ": convolutions keep their unfolded inputs, and recurrent layers"
                    + " their gates, in WS_ALL_LAYERS_ACT from the forward to the backward pass. In less memory and with the"
                    + " same bits, they are computed once more: net.setCacheMode(CacheMode.NONE) and net." + getter
                    + ".setCacheMode(CacheMode.NONE), before the first pass: layers that have cached go on reading what they"
                    + " cached last, which is wrong for every later minibatch. In mid-training attach with a budget, which switches"
                    + " it off where that helps and has layers forget what they cached.");
        }
        return advice;
    }

    private static String withoutWorkspaces(String name, String does, String getter, String setter) {
        return name + " " + does
                + " with WorkspaceMode.NONE: every array of a pass waits for the Java garbage collector, which"
                + " does not see its size. net." + getter + "." + setter
                + "(WorkspaceMode.ENABLED) reuses their memory,"
                + " with the same bits.";
    }
}
