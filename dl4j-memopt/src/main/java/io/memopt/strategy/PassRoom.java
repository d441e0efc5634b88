// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.nd4j.RegionPolicy;
import org.jspecify.annotations.Nullable;

/** The pass that one thread is in, and where what it needs is looked up and noted. Threading: confined to its thread. */
final class PassRoom {
    private @Nullable PassSizes sizes;
    private @Nullable RegionKey key;
    private boolean unsized;

    /** A pass of {@code pass} begins. */
    void begin(PassSizes its, RegionKey pass) {
        sizes = its;
        key = pass;
        unsized = false;
    }

    /** A pass begins of which nothing is to be learnt. */
    void beginUnknown() {
        sizes = null;
        key = null;
        unsized = false;
    }

    /** A pass begins that is left to ND4J. */
    void beginUnsized() {
        beginUnknown();
        unsized = true;
    }

    /** Bytes that the arena should have now; 0 when nothing is known, {@link RegionPolicy#UNSIZED} for a pass that is left to ND4J. */
    long bytes() {
        if (unsized) {
            return RegionPolicy.UNSIZED;
        }
        PassSizes its = sizes;
        return its == null || key == null ? 0 : its.room(key);
    }

    /** The pass needed so much. */
    void needed(long bytes) {
        PassSizes its = sizes;
        if (its != null && key != null) {
            its.needed(key, bytes);
        }
    }
}
