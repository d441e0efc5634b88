// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.OwnerTable;
import org.jspecify.annotations.Nullable;

/**
 * What the current thread does, as far as memory is concerned. Trackers write it, hooks read it.
 *
 * <p>Threading: confined to its thread; {@link #current()} returns the caller's.
 */
public final class ThreadContext {
    private static final AllocationKind[] KINDS = AllocationKind.values();
    private static final int DETACHED = AllocationKind.DETACHED.ordinal();
    private static final ThreadLocal<ThreadContext> CURRENT = ThreadLocal.withInitial(ThreadContext::new);
    /** A thread takes {@link #latest} over when it found another's there so many times: threads that take turns do not fight for it. */
    private static final int PATIENCE = 64;

    /** Most likely the caller's: one that was asked for lately. All that others read of it is final. */
    private static @Nullable ThreadContext latest;

    private final Thread thread = Thread.currentThread();
    private final long threadId = thread.getId();
    private @Nullable OwnerTable owners;
    private int owner = OwnerTable.UNKNOWN;
    private long iteration = -1;
    private boolean spilled;
    /** A number, since the collector's barrier makes each reference written here wait for all writes before it. */
    private int intent = DETACHED;
    /** That of the last intent, for the same reason. */
    private @Nullable WorkspaceAccount account;

    private boolean mirroring;
    /** Times that {@link #latest} was another thread's. */
    private int missed;

    private @Nullable Journal journal;
    /** Whose the journal is; no reference to a recording, which may be over. */
    private @Nullable Object journals;

    private ThreadContext() {}

    /**
     * The caller's. After a native operation the tables behind a thread-local variable are five lines of memory that no cache holds, so
     * the latest one is looked at first.
     */
    public static ThreadContext current() {
        ThreadContext likely = latest;
        return likely != null && likely.thread == Thread.currentThread() ? likely : lookUp();
    }

    /** As {@link #current()}, quicker if that is {@code likely}. */
    public static ThreadContext current(ThreadContext likely) {
        return likely.thread == Thread.currentThread() ? likely : current();
    }

    private static ThreadContext lookUp() {
        ThreadContext context = CURRENT.get();
        if (latest == null || context.missed++ % PATIENCE == 0) {
            latest = context;
        }
        return context;
    }

    /** {@link Thread#getId()} of this thread. */
    public long threadId() {
        return threadId;
    }

    /**
     * Number in {@code table} of the owner (network, layer, phase) for which the thread works now; unknown when that was
     * last told in terms of another recording's table.
     */
    public int owner(OwnerTable table) {
        return owners == table ? owner : OwnerTable.UNKNOWN;
    }

    /** Training iteration that the thread works on for the recording with {@code table}, -1 if none. */
    public long iteration(OwnerTable table) {
        return owners == table ? iteration : -1;
    }

    public void owner(OwnerTable table, int newOwner) {
        change(table);
        owner = newOwner;
    }

    public void iteration(OwnerTable table, long newIteration) {
        change(table);
        iteration = newIteration;
    }

    /** Whether the host memory that the thread asks for now is a mirror of device memory. */
    public boolean isMirroring() {
        return mirroring;
    }

    public void mirroring(boolean now) {
        mirroring = now;
    }

    /** The journal of this thread among {@code all}, which have {@code identity}. */
    Journal journal(Journals all, Object identity) {
        Journal known = journal;
        if (known == null || journals != identity) {
            known = all.mine();
            journal = known;
            journals = identity;
        }
        return known;
    }

    /** What was told in terms of another recording ends. */
    private void change(OwnerTable table) {
        if (owners != table) {
            owners = table;
            owner = OwnerTable.UNKNOWN;
            iteration = -1;
        }
    }

    /** What the next native allocation of this thread is for. */
    public AllocationKind intent() {
        return KINDS[intent];
    }

    /** The workspace that the next native allocation of this thread serves, if any. */
    public @Nullable WorkspaceAccount account() {
        return intent == DETACHED ? null : account;
    }

    /** Announces native allocations for {@code workspace}, not detached ones; undo with {@link #endIntent()} in a finally block. */
    public void beginIntent(AllocationKind kind, WorkspaceAccount workspace) {
        intent = kind.ordinal();
        spilled = false;
        if (account != workspace) {
            account = workspace;
        }
    }

    public void endIntent() {
        intent = DETACHED;
    }

    /** What was booked since {@link #beginIntent} has memory of its own, beside the block. */
    void spill() {
        spilled = true;
    }

    /** Whether an array got memory of its own since the last {@link #beginIntent}. */
    public boolean hasSpilled() {
        return spilled;
    }
}
