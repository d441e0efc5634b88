// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.convolution.LeanConvolutions;
import org.deeplearning4j.nn.api.Model;

/**
 * How the layers of one network compute: as configured, or with less memory to the same bits, without cache mode and, on the CPU, with
 * lean convolutions. Threading: between passes.
 */
final class LayerModes implements AutoCloseable {
    private final LeanConvolutions convolutions = new LeanConvolutions();
    private final CacheSwitch caches = new CacheSwitch();

    /** Whether {@link #lean} changes anything. */
    static boolean matter(Model model) {
        return CacheSwitch.isOn(model) || (!Nd4jFacts.isCuda() && LeanConvolutions.any(NetworkAccess.layers(model)));
    }

    /** Layers of {@code model} compute with less memory. */
    void lean(Model model) {
        if (caches.isOff() || CacheSwitch.isOn(model)) {
            caches.off(model);
        }
        leanConvolutions(model);
    }

    /** Those of {@code copy}, which has the configuration of a network whose layers do. */
    void leanConvolutions(Model copy) {
        if (!Nd4jFacts.isCuda()) {
            convolutions.begin(NetworkAccess.layers(copy));
        }
    }

    /** Layers compute as configured. */
    @Override
    public void close() {
        convolutions.close();
        caches.back();
    }
}
