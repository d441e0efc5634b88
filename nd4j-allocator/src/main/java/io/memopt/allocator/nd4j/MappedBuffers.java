// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.recording.ByteSize;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * Buffers in mapped files. A file loses its name as soon as it is mapped, so that nothing is left behind, whatever ends the process;
 * its bytes are free when nobody can reach the buffer any more. They are written once before, since a mapped file without room on
 * the disk would end the process.
 *
 * <p>CPU backend, and systems that let mapped files be deleted, as Linux does. Threading: safe.
 */
public final class MappedBuffers {
    private static final int CHUNK = 1 << 20;
    private static final Cleaner CLEANER = Cleaner.create();
    private static final Set<Long> ADDRESSES = ConcurrentHashMap.newKeySet();

    private MappedBuffers() {}

    /**
     * Room for {@code length} elements, all zero, in a file in {@code folder}.
     *
     * @throws UncheckedIOException if the folder has no room for it or cannot be written to; nothing is left there
     */
    public static DataBuffer create(DataType type, long length, Path folder) {
        Path file = null;
        try {
            file = Files.createTempFile(folder, "memopt-", ".array");
            fill(file, length * type.width());
            return map(type, length, file);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "No file of " + ByteSize.format(length * type.width()) + " could be made in " + folder
                            + ". Free room there, or offload to another folder.",
                    e);
        } finally {
            delete(file);
        }
    }

    private static void fill(Path file, long bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            ByteBuffer zeros = ByteBuffer.allocateDirect(CHUNK);
            for (long written = 0; written < bytes; ) {
                zeros.clear().limit((int) Math.min(CHUNK, bytes - written));
                written += channel.write(zeros);
            }
        }
    }

    private static DataBuffer map(DataType type, long length, Path file) throws IOException {
        long bytes = length * type.width();
        NativeOps nativeOps = NativeOpsHolder.getInstance().getDeviceNativeOps();
        LongPointer mapping = nativeOps.mmapFile(null, file.toString(), bytes);
        if (mapping == null || mapping.get(0) == 0) {
            throw new IOException(file + " could not be mapped");
        }
        // Its typed pointer, and the index that reads single elements, take their lengths from that of this one.
        BytePointer room = new BytePointer(new PagedPointer(mapping.get(0))).capacity(bytes);
        DataBuffer buffer = Nd4j.createBuffer(room, length, type);
        long address = mapping.get(0);
        ADDRESSES.add(address);
        CLEANER.register(buffer, () -> {
            ADDRESSES.remove(address);
            nativeOps.munmapFile(null, mapping, bytes);
        });
        return buffer;
    }

    /** Whether a mapped file that a buffer was made in begins at {@code address}, so that it takes none of ND4J's memory. */
    public static boolean begins(long address) {
        return ADDRESSES.contains(address);
    }

    private static void delete(@Nullable Path file) {
        if (file != null) {
            try {
                Files.deleteIfExists(file);
            } catch (IOException e) {
                file.toFile().deleteOnExit();
            }
        }
    }
}
