// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Brings arrays to the device ahead of their use, on the thread that calls, so that the thread which computes with them does
 * not copy. On a CPU backend there is nothing to do.
 *
 * <p>Threading: safe; threads do not wait for each other.
 */
public interface ArrayUpload extends AutoCloseable {

    /**
     * Copies what {@code array} holds to the device, if the device does not have it. The copy is done when this returns; no
     * stream but the calling thread's is waited for.
     *
     * @param array not attached to a workspace of another thread
     * @return bytes copied; 0 when nothing had to be
     */
    long upload(INDArray array);

    /** Waits until all that the calling thread asked the device for is done. */
    void awaitThread();

    /** Frees the staging memory. Nobody may be uploading. */
    @Override
    void close();

    /** For the backend of this process. */
    static ArrayUpload ofBackend() {
        return Nd4jFacts.isCuda() ? new CudaUpload() : new HostUpload();
    }
}
