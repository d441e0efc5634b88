// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.use.UseBook;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.OpaqueContext;
import org.nd4j.nativeblas.OpaqueDataBuffer;

/**
 * The interposer while uses are recorded: it stands in the place of a plain {@link NativeOpsInterposer}, so that not recording
 * them costs nothing. {@link InterposerFactory} makes every method that takes a native buffer, and is not named below, tell of
 * its use first.
 *
 * <p>BLAS, concatenation and the like take raw addresses, which ND4J asks the native buffer for just before the call: that
 * question counts as the use.
 *
 * <p>Threading: called from any thread, deallocator threads included.
 */
public abstract class UseRecordingOps extends NativeOpsInterposer {
    private final UseBook book;

    /** As {@link NativeOpsInterposer#NativeOpsInterposer}; uses go to {@code book}. */
    protected UseRecordingOps(NativeOps target, MemoryLedger ledger, boolean cuda, UseBook book) {
        super(target, ledger, cuda);
        this.book = book;
    }

    /** A native call is about to work on {@code buffer}; generated methods call this for each buffer they take. */
    protected final void used(@Nullable OpaqueDataBuffer buffer) {
        if (buffer != null) {
            long key = buffer.address();
            HookFailures.contain(() -> book.used(key));
        }
    }

    @Override
    public @Nullable OpaqueDataBuffer allocateDataBuffer(long elements, int type, boolean both) {
        return detached(super.allocateDataBuffer(elements, type, both));
    }

    @Override
    public @Nullable OpaqueDataBuffer dbAllocateDataBuffer(long elements, int type, boolean both) {
        return detached(super.dbAllocateDataBuffer(elements, type, both));
    }

    @Override
    public @Nullable OpaqueDataBuffer dbCreateExternalDataBuffer(
            long elements, int type, @Nullable Pointer primary, @Nullable Pointer special) {
        OpaqueDataBuffer buffer = target.dbCreateExternalDataBuffer(elements, type, primary, special);
        Pointer data = special != null && special.address() != 0 ? special : primary;
        if (buffer != null && data != null) {
            HookFailures.contain(() -> book.bufferCreated(buffer.address(), data.address()));
        }
        return buffer;
    }

    @Override
    public @Nullable OpaqueDataBuffer dbCreateView(OpaqueDataBuffer parent, long bytes, long offset) {
        OpaqueDataBuffer view = super.dbCreateView(parent, bytes, offset);
        if (view != null && parent != null) {
            HookFailures.contain(() -> book.viewCreated(parent.address(), view.address()));
        }
        return view;
    }

    @Override
    public void dbExpand(OpaqueDataBuffer buffer, long elements) {
        super.dbExpand(buffer, elements);
        detached(buffer);
    }

    @Override
    public void dbExpandBuffer(OpaqueDataBuffer buffer, long elements) {
        super.dbExpandBuffer(buffer, elements);
        detached(buffer);
    }

    @Override
    public Pointer dbPrimaryBuffer(OpaqueDataBuffer buffer) {
        used(buffer);
        return target.dbPrimaryBuffer(buffer);
    }

    @Override
    public Pointer dbSpecialBuffer(OpaqueDataBuffer buffer) {
        used(buffer);
        return target.dbSpecialBuffer(buffer);
    }

    /** On a device, what Java reads of an array is brought to the host by this. */
    @Override
    public void dbSyncToPrimary(OpaqueDataBuffer buffer) {
        if (onDevice()) {
            used(buffer);
        }
        target.dbSyncToPrimary(buffer);
    }

    @Override
    public void dbSyncToSpecial(OpaqueDataBuffer buffer) {
        if (onDevice()) {
            used(buffer);
        }
        target.dbSyncToSpecial(buffer);
    }

    @Override
    public void setGraphContextInputBuffer(
            OpaqueContext context, int index, @Nullable OpaqueDataBuffer buffer, Pointer shape, Pointer specialShape) {
        argument(context, false, index, buffer);
        target.setGraphContextInputBuffer(context, index, buffer, shape, specialShape);
    }

    @Override
    public void setGraphContextOutputBuffer(
            OpaqueContext context, int index, @Nullable OpaqueDataBuffer buffer, Pointer shape, Pointer specialShape) {
        argument(context, true, index, buffer);
        target.setGraphContextOutputBuffer(context, index, buffer, shape, specialShape);
    }

    @Override
    @SuppressWarnings("rawtypes")
    public int execCustomOp2(PointerPointer extra, long hash, Pointer context) {
        HookFailures.contain(() -> book.contextRuns(context.address()));
        return super.execCustomOp2(extra, hash, context);
    }

    @Override
    public void ctxPurge(OpaqueContext context) {
        HookFailures.contain(() -> book.contextPurged(context.address()));
        target.ctxPurge(context);
    }

    @Override
    public void deleteGraphContext(OpaqueContext context) {
        HookFailures.contain(() -> book.contextDeleted(context.address()));
        target.deleteGraphContext(context);
    }

    @Override
    void beforeFree(long key) {
        book.freed(key);
    }

    private void argument(OpaqueContext context, boolean output, int index, @Nullable OpaqueDataBuffer buffer) {
        long key = buffer == null ? 0 : buffer.address();
        HookFailures.contain(() -> book.argument(context.address(), output, index, key));
    }

    private @Nullable OpaqueDataBuffer detached(@Nullable OpaqueDataBuffer buffer) {
        if (buffer != null) {
            HookFailures.contain(() -> book.detachedBorn(buffer.address()));
        }
        return buffer;
    }
}
