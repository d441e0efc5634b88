// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import org.nd4j.linalg.api.memory.abstracts.Nd4jWorkspace;

/** What ND4J rounds arrays in workspaces up to: 32 bytes in 1.0.0-M2.1, 16 in M1.1. */
final class Alignment {
    /** Read reflectively because javac would copy the constant into this class. */
    static final long BYTES = read();

    private Alignment() {}

    private static long read() {
        try {
            return Nd4jWorkspace.class.getField("alignmentBase").getInt(null);
        } catch (ReflectiveOperationException e) {
            return Nd4jWorkspace.alignmentBase;
        }
    }
}
