// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.listeners.training.MemoryListener;
import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;

/**
 * Finds listeners that are handed activations, or called while these are alive. What they read in one iteration says nothing
 * about the next: a StatsListener looks at every n-th.
 */
public final class ActivationReaders {
    private static final List<String> CALLBACKS = List.of("onForwardPass", "onBackwardPass");

    private static final ClassValue<Boolean> READS = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return Arrays.stream(type.getMethods())
                    .filter(method -> CALLBACKS.contains(method.getName()))
                    .anyMatch(method -> method.getDeclaringClass() != TrainingListener.class
                            && method.getDeclaringClass() != BaseTrainingListener.class);
        }
    };

    private ActivationReaders() {}

    /** Whether a listener of {@code model} may read activations; ours do not. */
    public static boolean among(Model model) {
        for (TrainingListener listener : NetworkAccess.listeners(model)) {
            boolean reads = listener instanceof ListenerRelay relay ? relay.reads() : READS.get(listener.getClass());
            if (!(listener instanceof MemoryListener) && reads) {
                return true;
            }
        }
        return false;
    }
}
