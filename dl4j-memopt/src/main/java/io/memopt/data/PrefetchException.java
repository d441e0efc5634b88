// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import java.io.Serial;

/**
 * A batch could not be had. The message says which and in which step; the cause is what was thrown there. The iterator then
 * has no more batches until it is reset.
 */
public final class PrefetchException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    PrefetchException(String message, Throwable cause) {
        super(message, cause);
    }
}
