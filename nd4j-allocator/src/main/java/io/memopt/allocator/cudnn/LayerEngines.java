// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import org.nd4j.linalg.factory.Nd4j;

/** Opens engines without touching classes that may be absent. */
public final class LayerEngines {
    private static final String PRESETS = "org.bytedeco.cuda.global.cudnn";

    private LayerEngines() {}

    /**
     * cuDNN on ND4J's CUDA backend. Starts ND4J.
     *
     * @param hooks where scratch memory may lie, and who hears of it
     * @throws LayerEngineException if the backend is another, or cuDNN or its bindings are missing
     */
    public static LayerEngine openCudnn(CudnnOptions options, AlgorithmStore store, ScratchHooks hooks) {
        String backend = Nd4j.getBackend().getClass().getSimpleName();
        if (!Nd4j.getExecutioner().getClass().getName().contains("jcublas")) {
            throw new LayerEngineException("cuDNN needs ND4J's CUDA backend, this is " + backend
                    + ". Depend on org.nd4j:nd4j-cuda-11.6 in its place, or leave convolutions to the built-in path.");
        }
        try {
            return new CudnnEngine(options, store, hooks);
        } catch (LinkageError e) {
            throw new LayerEngineException(
                    "cuDNN cannot be used on " + backend + ": " + e + ". Needed are the JavaCPP presets (class "
                            + PRESETS
                            + ", of org.bytedeco:cuda, with their native part for this platform) and the cuDNN library"
                            + " of the version they were made for.",
                    e);
        }
    }
}
