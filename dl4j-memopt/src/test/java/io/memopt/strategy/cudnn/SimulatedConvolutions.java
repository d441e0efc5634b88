// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.ScratchHooks;
import io.memopt.allocator.cudnn.SimulatedScratch;

/** Helpers that compute on the host, with scratch memory as a library would take it. */
public final class SimulatedConvolutions {
    private SimulatedConvolutions() {}

    /** @param bytesPerElement see {@link SimulatedScratch} */
    public static CudnnLayers layers(ScratchHooks hooks, long bytesPerElement) {
        return CudnnLayers.on(new HostEngine(new SimulatedScratch(hooks, bytesPerElement)), Convolutions.CUDNN);
    }
}
