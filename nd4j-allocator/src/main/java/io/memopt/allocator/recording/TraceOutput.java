// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.io.Closeable;
import java.io.IOException;

/** Where a trace goes. Threading: called by one thread at a time. */
interface TraceOutput extends Closeable {

    /** Appends bytes, all or, when it throws, possibly some. */
    void write(byte[] bytes, int length) throws IOException;

    /** Cuts off what lies behind {@code length}, as far as that is possible. */
    void truncate(long length) throws IOException;
}
