// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.use.ArrayUse;
import io.memopt.allocator.use.UseBook;
import java.lang.reflect.Field;
import java.util.Optional;
import org.bytedeco.javacpp.indexer.Indexer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.BaseDataBuffer;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.factory.DataBufferFactory;

/**
 * ND4J's buffer factory while uses are recorded: buffers inside workspaces get an indexer that tells of element accesses.
 * Views take the indexer of the buffer they are a view of, and so are seen, too. {@link GuardedBuffers} generates the methods
 * at run time: all forward to {@link #target}, those that take a workspace go through {@link #guard}.
 */
public abstract class GuardedBufferFactory implements DataBufferFactory {
    /** What ND4J had before; forwards go here. */
    protected final DataBufferFactory target;

    private final UseBook book;
    private final Field indexer;

    /** As {@code target}; uses go to {@code book}. */
    protected GuardedBufferFactory(DataBufferFactory target, UseBook book) throws NoSuchFieldException {
        this.target = target;
        this.book = book;
        this.indexer = BaseDataBuffer.class.getDeclaredField("indexer");
        indexer.setAccessible(true);
    }

    DataBufferFactory target() {
        return target;
    }

    /** Puts the guarded indexer in place of that of {@code buffer}, which was just made; returns the same buffer. */
    protected final @Nullable DataBuffer guard(@Nullable DataBuffer buffer) {
        if (buffer instanceof BaseDataBuffer && buffer.isAttached()) {
            try {
                replace(buffer);
            } catch (ReflectiveOperationException | RuntimeException e) {
                HookFailures.report(e);
            }
        }
        return buffer;
    }

    private void replace(DataBuffer buffer) throws ReflectiveOperationException {
        Indexer plain = (Indexer) indexer.get(buffer);
        ArrayUse array = plain == null ? null : book.arrayAt(buffer.address());
        if (array != null) {
            Optional<Indexer> guarded = GuardedIndexers.guarded(plain, new ElementGuard(book, array));
            if (guarded.isPresent()) {
                indexer.set(buffer, guarded.get());
            }
        }
    }
}
