// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

/** A library of layer computations is not there, or failed. The message says what to do. */
public final class LayerEngineException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public LayerEngineException(String message) {
        super(message);
    }

    public LayerEngineException(String message, Throwable cause) {
        super(message, cause);
    }
}
