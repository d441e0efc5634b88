// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A trace on disk, locked against a second writer. Uses {@link RandomAccessFile}, for a channel would close itself when
 * the thread is interrupted.
 */
final class TraceFile implements TraceOutput {
    private final RandomAccessFile file;

    private TraceFile(RandomAccessFile file) {
        this.file = file;
    }

    /**
     * Opens {@code path} for a new trace; what it held is overwritten.
     *
     * @throws IOException if that is impossible, with path, reason and remedy in its message
     */
    static TraceFile create(Path path) throws IOException {
        Path parent = path.toAbsolutePath().getParent();
        if (Files.isDirectory(path)) {
            throw refusal(
                    path, "it is a directory", "Name a file in it, e.g. " + path.resolve("training.memopt"), null);
        }
        if (parent != null && !Files.isDirectory(parent)) {
            throw refusal(path, "its directory does not exist", "Create " + parent + " or name another path", null);
        }
        RandomAccessFile file;
        try {
            file = new RandomAccessFile(path.toFile(), "rw");
        } catch (IOException e) {
            throw refusal(
                    path,
                    String.valueOf(e.getMessage()),
                    "Check the permissions of " + path + " or name another path",
                    e);
        }
        try {
            lock(file, path);
            if (file.length() > 0) {
                file.setLength(0);
            }
            return new TraceFile(file);
        } catch (IOException e) {
            file.close();
            throw e;
        }
    }

    @Override
    public void write(byte[] bytes, int length) throws IOException {
        file.write(bytes, 0, length);
    }

    @Override
    public void truncate(long length) throws IOException {
        if (file.length() > length) {
            file.setLength(length);
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }

    /** File systems without locks are fine; a lock that someone else holds is not. */
    private static void lock(RandomAccessFile file, Path path) throws IOException {
        boolean taken;
        boolean interrupted = Thread.interrupted();
        try {
            taken = file.getChannel().tryLock() == null;
        } catch (OverlappingFileLockException e) {
            taken = true;
        } catch (IOException e) {
            taken = false;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        if (taken) {
            throw refusal(path, "another recording writes to it", "Give each process a path of its own", null);
        }
    }

    static IOException refusal(Path path, String reason, String remedy, @Nullable Throwable cause) {
        return new IOException("Cannot record to " + path + ": " + reason + ". " + remedy + ".", cause);
    }
}
