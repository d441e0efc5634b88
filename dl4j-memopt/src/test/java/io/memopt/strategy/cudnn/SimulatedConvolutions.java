// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.SimulatedScratch;

/** Helpers that compute on the host, with scratch memory as a library would take it. */
public final class SimulatedConvolutions {
    private SimulatedConvolutions() {}

    public static CudnnLayers layers(SimulatedScratch scratch) {
        return layers(scratch, Convolutions.CUDNN);
    }

    public static CudnnLayers layers(SimulatedScratch scratch, Convolutions settings) {
        return CudnnLayers.on(new HostEngine(scratch), settings);
    }
}
