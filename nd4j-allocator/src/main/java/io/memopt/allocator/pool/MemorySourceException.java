// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

/** A device refused a request for another reason than having no memory left. */
public final class MemorySourceException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** What failed, with the driver's own name of the reason. */
    public MemorySourceException(String message) {
        super(message);
    }
}
