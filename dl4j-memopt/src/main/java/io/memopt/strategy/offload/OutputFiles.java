// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.nd4j.MappedBuffers;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Copies of outputs of layers in mapped files, one for each layer whose output is kept. A file serves all passes and grows with the
 * largest output. Exactness {@code BITWISE}: values and strides are the same.
 *
 * <p>Threading: confined to the training thread.
 */
public final class OutputFiles {
    private final Path folder;
    private final Map<Integer, DataBuffer> buffers = new HashMap<>();

    /** In {@code folder}, a directory that exists. */
    public OutputFiles(Path folder) {
        this.folder = folder;
    }

    /**
     * A copy of {@code output} of the layer at {@code position} that is valid until the next one; null when it has gaps in memory, which
     * a copy would not have.
     *
     * @throws java.io.UncheckedIOException if no file could be made
     */
    public @Nullable INDArray copy(int position, INDArray output) {
        if (!MappedArrays.isDense(output)) {
            return null;
        }
        DataBuffer known = buffers.get(position);
        if (known == null || known.length() < output.length() || known.dataType() != output.dataType()) {
            known = MappedBuffers.create(output.dataType(), output.length(), folder);
            buffers.put(position, known);
        }
        return MappedArrays.copyInto(known, output);
    }

    /** Those of other layers are no longer needed: other outputs are kept from now on. */
    public void clear() {
        buffers.clear();
    }

    /** Bytes in files. */
    public long bytes() {
        return buffers.values().stream()
                .mapToLong(buffer -> buffer.length() * buffer.getElementSize())
                .sum();
    }
}
