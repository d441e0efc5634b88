// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

/** The hooks could not be put in place; ND4J is as it was. */
public final class HookException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What cannot be done, and what to do about it. */
    public HookException(String message) {
        super(message);
    }

    HookException(String message, Throwable cause) {
        super(message, cause);
    }
}
