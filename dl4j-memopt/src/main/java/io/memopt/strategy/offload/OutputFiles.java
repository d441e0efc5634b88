// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.nd4j.MappedBuffers;
import io.memopt.allocator.recording.ByteSize;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Copies of outputs of layers in mapped files, one for each layer whose output is kept. A file serves all passes and grows with the
 * largest output. Operations work on the files. Exactness {@code BITWISE}: values and strides are the same.
 *
 * <p>Threading: confined to the training thread.
 */
final class OutputFiles implements OutputStore {
    private final Path folder;
    private final Map<Integer, DataBuffer> buffers = new HashMap<>();
    private final Map<Integer, INDArray> kept = new HashMap<>();

    /** In {@code folder}, a directory that exists. */
    OutputFiles(Path folder) {
        this.folder = folder;
    }

    @Override
    public void begin(List<Set<Integer>> uses, Room room) {
        kept.clear();
    }

    @Override
    public void stage(int stage) {
        // All outputs are where they are used.
    }

    /**
     * False for outputs with gaps in memory, which a copy would not have.
     *
     * @throws java.io.UncheckedIOException if no file could be made
     */
    @Override
    public boolean keep(int position, INDArray output) {
        if (!DenseCopies.isDense(output)) {
            return false;
        }
        DataBuffer known = buffers.get(position);
        if (known == null || known.length() < output.length() || known.dataType() != output.dataType()) {
            known = MappedBuffers.create(output.dataType(), output.length(), folder);
            buffers.put(position, known);
        }
        kept.put(position, DenseCopies.copyInto(known, output));
        return true;
    }

    @Override
    public @Nullable INDArray get(int position) {
        return kept.get(position);
    }

    @Override
    public void end() {
        kept.clear();
    }

    @Override
    public void clear() {
        buffers.clear();
    }

    /** Bytes in files. */
    public long bytes() {
        return buffers.values().stream()
                .mapToLong(buffer -> buffer.length() * buffer.getElementSize())
                .sum();
    }

    @Override
    public String note() {
        return ByteSize.format(bytes()) + " of it are in mapped files.";
    }

    /** The files are gone when nobody can reach their arrays any more. */
    @Override
    public void close() {
        clear();
    }
}
