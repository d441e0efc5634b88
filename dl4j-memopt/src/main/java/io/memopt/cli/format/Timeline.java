// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import java.io.IOException;

/** What a viewer of time lines understands. Times are nanoseconds since some start. */
interface Timeline {
    /** Begins the file. */
    void begin(String process) throws IOException;

    /** A number that changed. */
    void counter(String name, long nanos, long bytes) throws IOException;

    /** Something that lasted, on a track of its own name. */
    void slice(String track, String name, long startNanos, long endNanos) throws IOException;

    /** Something that happened. */
    void instant(String track, String name, long nanos) throws IOException;

    /** Ends the file. */
    void end() throws IOException;
}
