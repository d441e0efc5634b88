// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import java.lang.reflect.Field;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.trainer.Trainer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds what a training thread of Deeplearning4j's {@code ParallelWrapper} works on. Its first thread trains the network that
 * the wrapper was given, each other one a copy that it makes when it starts and that nobody else can name.
 *
 * <pre>
 *   thread --uncaughtExceptionHandler--> ParallelWrapper$1 --this$0--> wrapper --zoo--> trainers --model--> network or copy
 * </pre>
 *
 * <p>Threading: asks about the calling thread only.
 */
final class WrapperWorker {
    private static final Logger log = LoggerFactory.getLogger(WrapperWorker.class);
    private static final String HANDLER = "org.deeplearning4j.parallelism.ParallelWrapper$";

    /**
     * A copy and what it is a copy of.
     *
     * @param worker number of its trainer, from 0
     */
    record Copy(Model model, Model original, int worker) {}

    private WrapperWorker() {}

    /** Whether a wrapper made the calling thread. Touches no class of the wrapper, which may not be on the class path. */
    static boolean runsHere() {
        return handler().getClass().getName().startsWith(HANDLER);
    }

    /**
     * The network of the calling thread's wrapper that asks for its workspaces with {@code configuration}; null when there is
     * none, or when this version of the wrapper keeps it elsewhere. Call only if {@link #runsHere}.
     */
    static @Nullable Copy with(WorkspaceConfiguration configuration) {
        try {
            ParallelWrapper wrapper = wrapper(handler());
            Trainer[] trainers = wrapper.getZoo();
            for (int i = 0; trainers != null && i < trainers.length; i++) {
                Model model = trainers[i] == null ? null : trainers[i].getModel();
                if (model != null && new ConfigurationIdentity(model).matches(configuration)) {
                    return new Copy(model, wrapper.getModel(), i);
                }
            }
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            log.debug(
                    "The network of {} cannot be told: {}",
                    Thread.currentThread().getName(),
                    e.toString());
        }
        return null;
    }

    private static Thread.UncaughtExceptionHandler handler() {
        return Thread.currentThread().getUncaughtExceptionHandler();
    }

    private static ParallelWrapper wrapper(Object handler) throws ReflectiveOperationException {
        for (Field field : handler.getClass().getDeclaredFields()) {
            if (field.getType() == ParallelWrapper.class) {
                field.setAccessible(true);
                return (ParallelWrapper) field.get(handler);
            }
        }
        throw new NoSuchFieldException("ParallelWrapper in " + handler.getClass());
    }
}
