// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import org.nd4j.linalg.factory.Nd4j;

/** Which numbers ND4J's random generator draws next. Threading: safe; the generator itself is the thread's. */
record RandomState(long root, long node) {

    static RandomState now() {
        return new RandomState(Nd4j.getRandom().rootState(), Nd4j.getRandom().nodeState());
    }

    /** The same numbers are drawn again. */
    void restore() {
        Nd4j.getRandom().setStates(root, node);
    }
}
