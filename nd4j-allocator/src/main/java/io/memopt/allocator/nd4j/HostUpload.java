// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.nd4j.linalg.api.ndarray.INDArray;

/** Arrays are where they are used. */
final class HostUpload implements ArrayUpload {
    @Override
    public long upload(INDArray array) {
        return 0;
    }

    @Override
    public void awaitThread() {
        // Operations of a CPU backend are done when they return.
    }

    @Override
    public void close() {
        // There is no staging memory.
    }
}
