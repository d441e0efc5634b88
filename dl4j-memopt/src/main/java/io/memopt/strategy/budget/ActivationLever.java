// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import java.util.List;

/** How activations of one network can be kept or computed again. Threading: the training thread. */
interface ActivationLever {

    /**
     * Ways to keep activations, {@link Keep#ALL} first, then fewer and fewer, {@link #least} among them.
     *
     * @param offloaded whether what is kept lies elsewhere, so that it weighs less or nothing
     */
    List<Keep> choices(boolean offloaded);

    /** The choice that keeps least and is the same in every decision; others may depend on times. */
    Keep least(boolean offloaded);

    /**
     * Bytes of activations that {@code keep} does without, as far as sizes of outputs tell; passes take no less than that less.
     *
     * @param examples of the pass
     */
    long savedBytes(Keep keep, boolean offloaded, int examples);

    /** Time to compute again what {@code keep} does not keep, as share of a pass that keeps all. */
    double extraShare(Keep keep);

    /** Lever of a network of which all activations are kept. */
    static ActivationLever none() {
        return new ActivationLever() {
            @Override
            public List<Keep> choices(boolean offloaded) {
                return List.of(Keep.ALL);
            }

            @Override
            public Keep least(boolean offloaded) {
                return Keep.ALL;
            }

            @Override
            public long savedBytes(Keep keep, boolean offloaded, int examples) {
                return 0;
            }

            @Override
            public double extraShare(Keep keep) {
                return 0;
            }
        };
    }
}
