// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import java.util.List;

/** What is known about the networks that train. Threading: any thread. */
public interface TrainingFigures {

    /** The attached networks, in the order in which they came. */
    List<NetworkFigures> networks();

    /** True when {@code network} was attached and no longer is. */
    boolean isRemoved(String network);

    /**
     * The value of the tag {@code network}: {@code none} for the empty name, the name itself for the first 16 networks,
     * {@code other} for later and for removed ones.
     */
    String labelOf(String network);
}
