// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.ThreadContext;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.allocator.use.UseBook;
import java.lang.ref.Cleaner;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.abstracts.Nd4jWorkspace;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What a workspace of any backend reports. A workspace subclass keeps one of these and calls it around the methods of its
 * superclass; nothing here changes what ND4J does.
 *
 * <p>Threading: as the workspace itself, i.e. its own thread, plus whoever destroys it.
 */
final class ScopeRecorder {
    private static final Cleaner CLEANER = Cleaner.create();

    /** 32 in ND4J 1.0.0-M2.1, 16 in M1.1; read reflectively because javac would copy the constant into this class. */
    private static final long ALIGNMENT = alignment();

    private final Recording recording;
    private final MemoryLedger ledger;
    private final WorkspaceAccount account;
    private final MemorySpace arraySpace;
    private final ScopeObservers observers;
    private final boolean served;
    private boolean allocating;
    /** Whether there was an array since all of them ended. */
    private boolean filled;

    private List<ScopeObserver> known = List.of();
    /** Of those known, who wants to hear of this workspace. */
    private List<ScopeObserver> hearing = List.of();

    /** Where our arrays may lie while our scope is open; held so that it outlives them, whoever ends reuse meanwhile. */
    private @Nullable ThreadArena arena;

    private int arenaScopes;

    /**
     * Opens the books of {@code workspace}.
     *
     * @param arraySpace where its arrays lie; mirrors in other spaces count as blocks only
     */
    ScopeRecorder(Recording recording, Nd4jWorkspace workspace, MemorySpace arraySpace, boolean circular) {
        this.recording = recording;
        this.ledger = recording.ledger();
        this.observers = recording.observers();
        this.arraySpace = arraySpace;
        this.served = NetworkWorkspaces.serves(workspace.getId());
        this.account = ledger.openAccount(
                CategoryRules.stableName(workspace.getId()),
                Thread.currentThread(),
                circular,
                depth(workspace, circular));
        CLEANER.register(workspace, closing(recording, account));
    }

    WorkspaceAccount account() {
        return account;
    }

    /** False once another recording has begun; then native calls are booked there, where this account is not known. */
    boolean isHeard() {
        return MemoryHooks.isCurrent(recording);
    }

    /** Runs {@code init}; native memory that it takes is a block of this workspace. */
    void initialising(Runnable init) {
        if (!isHeard()) {
            init.run();
            return;
        }
        ThreadContext context = account.context();
        context.beginIntent(AllocationKind.WORKSPACE_BLOCK, account);
        try {
            init.run();
        } finally {
            context.endIntent();
        }
    }

    /** Begins an allocation by the thread whose context is returned; null when it is the inner call of one that has begun. */
    @Nullable
    ThreadContext beginArray(boolean pinned) {
        if (allocating) {
            return null;
        }
        allocating = true;
        ThreadContext context = account.context();
        if (isHeard()) {
            context.beginIntent(pinned ? AllocationKind.PINNED_SPILL : AllocationKind.SPILL, account);
        }
        return context;
    }

    /** Ends what {@link #beginArray} began. */
    void endArray(ThreadContext context) {
        allocating = false;
        context.endIntent();
    }

    /**
     * An array of {@code bytes} was placed at {@code address}.
     *
     * @param inside false when it got memory of its own, which the native call has booked
     */
    void array(boolean inside, long address, long bytes) {
        long rounded = rounded(bytes);
        filled = true;
        HookFailures.contain(() -> {
            if (inside) {
                ledger.arrayAllocated(account, arraySpace, address, bytes, rounded);
            }
            UseBook uses = recording.uses();
            if (uses != null) {
                uses.arrayBorn(account, !inside, arraySpace, address, bytes, rounded);
            }
        });
    }

    /** The bytes for an array of {@code bytes}, if they come from an arena; null leaves it to ND4J. */
    @Nullable
    PagedPointer place(String name, long bytes, DataType type) {
        ThreadArena serving = arena;
        if (serving == null) {
            return null;
        }
        try {
            return serving.place(name, account, arraySpace, rounded(bytes), bytes / Nd4j.sizeOfDataType(type));
        } catch (RuntimeException | LinkageError e) {
            HookFailures.report(e);
            return null;
        }
    }

    /** Host memory for mirrors of {@code workspace}'s arrays; given back when that is gone. */
    HostMirrors mirrors(Object workspace) {
        HostMirrors mirrors = new HostMirrors(ledger, account);
        CLEANER.register(workspace, mirrors::free);
        return mirrors;
    }

    /** What a workspace takes for an array of {@code bytes}. */
    static long rounded(long bytes) {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    void entered(String name) {
        HookFailures.contain(() -> {
            ledger.scopeEntered(account, arraySpace);
            hearing(name).forEach(observer -> observer.scopeEntered(name));
            if (served) {
                enterArena(name);
            }
        });
    }

    void closed(String name) {
        HookFailures.contain(() -> {
            hearing(name).forEach(observer -> observer.scopeClosed(name));
            ThreadArena serving = arena;
            if (serving != null) {
                arena = --arenaScopes == 0 ? null : serving;
                serving.scopeClosed(account);
            }
        });
    }

    /** Whether arrays of the open scope lie in an arena. */
    boolean isServed() {
        ThreadArena serving = arena;
        return serving != null && serving.isServing();
    }

    /** Whether arrays of the open scope lie in an arena, and their bytes go to others with or without a wait for the device. */
    boolean needsNoWait() {
        WorkspaceReuse reuse = recording.reuse();
        return reuse != null && !reuse.waitsForScopes() && isServed();
    }

    /** Whether the arrays of the open scope lie in an arena without a plan; ND4J gets to see only those that found no room. */
    boolean isScoped() {
        ThreadArena serving = arena;
        return serving != null && serving.isScoped();
    }

    private void enterArena(String name) {
        WorkspaceReuse reuse = recording.reuse();
        ThreadArena entered = arena == null && reuse != null ? reuse.arena() : arena;
        if (entered != null) {
            arena = entered;
            arenaScopes++;
            entered.scopeEntered(name);
        }
    }

    void arraysReleased() {
        HookFailures.contain(() -> {
            UseBook uses = recording.uses();
            if (uses != null) {
                uses.arraysReleased(account);
            }
            if (filled) {
                filled = false;
                ledger.arraysReleased(account, arraySpace);
            }
        });
    }

    /** Observers come and go; most scopes in a step of a recurrent layer are of no interest to any. */
    private List<ScopeObserver> hearing(String name) {
        List<ScopeObserver> all = observers.all();
        if (all != known) {
            hearing = all.stream().filter(observer -> observer.hears(name)).toList();
            known = all;
        }
        return hearing;
    }

    /** Holds no reference to the workspace: it runs once that is gone. */
    private static Runnable closing(Recording recording, WorkspaceAccount account) {
        return () -> {
            UseBook uses = recording.uses();
            if (uses != null) {
                uses.closed(account);
            }
            recording.ledger().closeAccount(account);
        };
    }

    /** AsyncDataSetIterator asks for room for its queue and two batches more. */
    private static int depth(Nd4jWorkspace workspace, boolean circular) {
        double limit = workspace.getWorkspaceConfiguration().getOverallocationLimit();
        return circular ? (int) Math.max(0, limit - 2) : 0;
    }

    private static long alignment() {
        try {
            return Nd4jWorkspace.class.getField("alignmentBase").getInt(null);
        } catch (ReflectiveOperationException e) {
            return Nd4jWorkspace.alignmentBase;
        }
    }
}
