// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.prometheus;

import java.io.IOException;
import java.io.UncheckedIOException;

/** The scrape endpoint could not be opened. Nothing was started; a caller that can do without it may warn and go on. */
public final class MetricsServerException extends UncheckedIOException {
    private static final long serialVersionUID = 1;

    private final int port;

    MetricsServerException(String message, int port, IOException cause) {
        super(message, cause);
        this.port = port;
    }

    /** The port that was asked for. */
    public int port() {
        return port;
    }
}
