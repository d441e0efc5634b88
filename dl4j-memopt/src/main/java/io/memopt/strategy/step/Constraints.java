// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.strategy.NetworkAccess;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;

/** Networks with layers whose parameters are brought into bounds after each update. */
final class Constraints {
    private Constraints() {}

    static boolean among(Model model) {
        for (Layer layer : NetworkAccess.layers(model)) {
            boolean some = layer.conf() != null
                    && layer.conf().getLayer() != null
                    && layer.conf().getLayer().getConstraints() != null
                    && !layer.conf().getLayer().getConstraints().isEmpty();
            if (some) {
                return true;
            }
        }
        return false;
    }
}
