// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.ThreadContext;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.memopt.allocator.reuse.ArenaCapacity;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.allocator.reuse.PlanCursor;
import io.memopt.allocator.reuse.ScopedPlacement;
import io.memopt.allocator.use.UseBook;
import java.lang.ref.Cleaner;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.enums.DebugMode;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.factory.Nd4j;

/**
 * One block of memory for all workspaces that networks use on one thread, and which region of work it serves now. Grows
 * between regions only: inside one its bytes are in use.
 *
 * <p>Threading: confined to its thread, but for {@link #release}.
 */
final class ThreadArena {
    private static final Cleaner CLEANER = Cleaner.create();

    private final RegionPolicy policy;
    private final Recording recording;
    private final MemoryLedger ledger;
    private final Block block;
    private final boolean poisons;
    private int open;
    private volatile boolean stopped;
    private String outermost = "";
    private boolean asked;
    private @Nullable PlanCursor cursor;
    private ServedArrays arrays;
    /** The region has no plan and its arrays lie here to the ends of their scopes. */
    private boolean scoped;

    private final ScopedPlacement placement = new ScopedPlacement();
    private long outsideBytes;
    private final ArenaCapacity capacity;
    private final ArenaFigures figures;
    /** What the block should have at least when the next region begins; it may be smaller now, or larger. */
    private long keptBytes;

    private volatile long idleSince = System.nanoTime();

    ThreadArena(Recording recording, RegionPolicy policy, int trimAfter, ArenaFigures figures) {
        this.policy = policy;
        this.recording = recording;
        this.ledger = recording.ledger();
        this.arrays = new ServedArrays(0);
        ArenaMemory memory = ArenaMemory.ofBackend();
        this.block = new Block(ledger, memory);
        this.capacity = new ArenaCapacity(trimAfter);
        this.figures = figures;
        this.poisons = policy.poisons() && memory.isHost();
        CLEANER.register(this, block::free);
    }

    synchronized void scopeEntered(String workspace) {
        if (open++ == 0) {
            outermost = workspace;
            asked = false;
            cursor = null;
            scoped = false;
        }
    }

    /** Whether arrays of the open region lie here. */
    boolean isServing() {
        return scoped || cursor != null;
    }

    /** Whether the arrays of the open region lie here without a plan; what ND4J then serves it need not learn from. */
    boolean isScoped() {
        return scoped;
    }

    void scopeClosed(WorkspaceAccount account) {
        placement.scopeClosed(account);
        if (open == 1) {
            settle();
        }
        if (leave() > 0) {
            return;
        }
        if (scoped) {
            block.fresh = true; // no longer what a plan left behind
            figures.countSized(outsideBytes);
            policy.regionSized(placement.neededBytes());
        }
        PlanCursor served = cursor;
        cursor = null;
        if (poisons && served != null) {
            poisonAll(served);
        }
        if (asked) {
            asked = false;
            policy.regionClosed(served);
        }
    }

    private synchronized int leave() {
        open--;
        if (open == 0) {
            idleSince = System.nanoTime();
        }
        if (open == 0 && stopped) {
            block.free();
        }
        return open;
    }

    private void settle() {
        PlanCursor served = cursor;
        if (scoped || served != null) {
            keptBytes = capacity.kept(block.bytes, served == null ? placement.neededBytes() : served.arenaBytes());
        }
    }

    /** Of the block that it has now. */
    synchronized long blockBytes() {
        return block.bytes;
    }

    /** Begins anew, without a block, unless a scope is open. */
    synchronized void giveBack() {
        if (open == 0) {
            block.give();
            keptBytes = 0;
        }
    }

    /** Gives the block back until it is needed again, if no scope was open since {@code nanos}. Any thread may call. */
    synchronized void releaseIfIdle(long nanos) {
        if (open == 0 && block.bytes > 0 && idleSince - nanos <= 0) {
            figures.countIdle(block.bytes);
            block.give();
        }
    }

    /**
     * The bytes for an array, if the plan of the region has them. Arrays whose bytes it may take end in the ledger.
     *
     * @param elements what the pointer says it holds
     */
    @Nullable
    PagedPointer place(
            String workspace, WorkspaceAccount account, MemorySpace space, long roundedBytes, long elements) {
        if (!asked && (stopped || spillsEverything())) {
            return null;
        }
        if (!asked) {
            asked = true;
            begin(policy.planFor(outermost, workspace, roundedBytes), policy.roomBytes());
        }
        boolean belongs = open > 1 || policy.belongs();
        if (scoped) {
            return placeInScope(account, roundedBytes, elements);
        }
        if (!belongs) {
            return null;
        }
        PlanCursor serving = cursor;
        PagedPointer base = block.base;
        long offset = serving == null ? PlanCursor.MISS : serving.place(workspace, roundedBytes);
        if (serving == null || offset == PlanCursor.MISS || base == null) {
            return null;
        }
        if (!endArrays(serving, space) || isPoisonBroken(offset, roundedBytes)) {
            serving.fail();
            return null;
        }
        PagedPointer pointer = base.withOffset(offset, elements);
        arrays.put(serving.served() - 1, account, pointer.address(), ledger.currentOwner(account), roundedBytes);
        return pointer;
    }

    /**
     * Address, a multiple of {@value ArenaPlan#SPARE_ALIGNMENT}, of {@code wanted} bytes that no array has until the next is asked for; 0 when there are none, -1 when no plan is being
     * served. Whatever was begun with them must come before what is done with that array, as on one stream.
     */
    long spare(long wanted) {
        PlanCursor serving = cursor;
        PagedPointer base = block.base;
        if (serving == null || serving.missed() || base == null || poisons) {
            return -1;
        }
        long offset = serving.spare(wanted + ArenaPlan.SPARE_ALIGNMENT - 1, block.bytes);
        return offset == PlanCursor.MISS
                ? 0
                : (base.address() + offset + ArenaPlan.SPARE_ALIGNMENT - 1) & -ArenaPlan.SPARE_ALIGNMENT;
    }

    /**
     * Ends the arrays whose bytes are about to be taken. False when one of them, which keeps its bytes to the end of its
     * scope, is in a scope that is still open: scopes are left in another order than planned.
     */
    private boolean endArrays(PlanCursor serving, MemorySpace space) {
        UseBook uses = recording.uses();
        for (int ended = serving.nextEnded(); ended >= 0; ended = serving.nextEnded()) {
            if (serving.endsWithScope(ended) && !arrays.scopeEnded(ended)) {
                return false;
            }
            if (uses != null) {
                uses.bytesTaken(arrays.address(ended));
            }
            arrays.end(ledger, space, ended);
            if (poisons) {
                block.poison(serving.offset(ended), arrays.roundedBytes(ended));
            }
        }
        return true;
    }

    /** The region is over: no array has bytes any more. */
    private void poisonAll(PlanCursor served) {
        for (int left = served.nextLeft(); left >= 0; left = served.nextLeft()) {
            block.poison(served.offset(left), arrays.roundedBytes(left));
        }
        if (!served.missed() && isPoisonBroken(0, block.bytes)) {
            served.fail();
        }
        block.poison(0, block.bytes);
    }

    private boolean isPoisonBroken(long offset, long length) {
        boolean broken = poisons && !block.isPoison(offset, length);
        if (broken) {
            policy.poisonBroken();
        }
        return broken;
    }

    private static boolean spillsEverything() {
        return Nd4j.getWorkspaceManager().getDebugMode() == DebugMode.SPILL_EVERYTHING;
    }

    /** Serves no new region and gives the block back, now or when the open region ends. Any thread may call. */
    synchronized void release() {
        stopped = true;
        if (open == 0) {
            block.free();
        }
    }

    private void begin(@Nullable ArenaPlan plan, long room) {
        if (plan == null) {
            scoped = room != RegionPolicy.UNSIZED;
            placement.clear();
            outsideBytes = 0;
            if (scoped) {
                grow(room, 0);
            }
        } else if (grow(Math.max(room, plan.height()), plan.height())) {
            if (poisons && block.takeFresh()) {
                block.poison(0, block.bytes);
            }
            arrays = arrays.withRoomFor(plan.size());
            cursor = new PlanCursor(plan);
        } else {
            policy.arenaRefused(plan.height());
        }
    }

    /** Tries for {@code wanted} bytes, and if there is no such memory for {@code enough}; false when neither could be had. */
    private boolean grow(long wanted, long enough) {
        long held = block.bytes;
        long size = Math.max(keptBytes, wanted);
        if (size < held) {
            block.give();
            figures.countTrim(held - size);
        } else if (size > held) {
            size = capacity.grown(held, size);
            figures.countGrowth(held);
        }
        boolean had = block.ensure(size) || block.ensure(enough);
        keptBytes = block.bytes;
        return had;
    }

    private @Nullable PagedPointer placeInScope(WorkspaceAccount account, long roundedBytes, long elements) {
        long offset = placement.place(account, roundedBytes);
        PagedPointer base = block.base;
        if (base == null || offset + roundedBytes > block.bytes) {
            outsideBytes += roundedBytes;
            return null;
        }
        return base.withOffset(offset, elements);
    }

    /** The native memory, apart from its owner so that it can be freed after that is gone. */
    private static final class Block {
        private static final byte ONES = -1;

        private final MemoryLedger ledger;
        private final WorkspaceAccount account;
        private final ArenaMemory space;
        private @Nullable PagedPointer base;
        private @Nullable Pointer memory;
        private long bytes;
        /** Taken anew, and nobody has asked. */
        private boolean fresh;

        Block(MemoryLedger ledger, ArenaMemory space) {
            this.space = space;
            this.ledger = ledger;
            this.account = ledger.openAccount(NetworkWorkspaces.ARENA, Thread.currentThread(), false);
        }

        /** False when there is no such memory; the block is empty then. */
        boolean ensure(long wanted) {
            if (bytes >= wanted) {
                return true;
            }
            give();
            Pointer taken = take(wanted);
            if (taken == null) {
                return false;
            }
            memory = taken;
            base = new PagedPointer(taken, wanted);
            bytes = wanted;
            fresh = true;
            return true;
        }

        boolean takeFresh() {
            boolean was = fresh;
            fresh = false;
            return was;
        }

        private @Nullable Pointer take(long wanted) {
            ThreadContext context = ThreadContext.current();
            context.beginIntent(AllocationKind.WORKSPACE_BLOCK, account);
            try {
                return space.take(wanted);
            } catch (RuntimeException | OutOfMemoryError e) {
                return null;
            } finally {
                context.endIntent();
            }
        }

        /** Fills with ones, which are a number in no floating-point type. */
        void poison(long offset, long length) {
            PagedPointer start = base;
            if (start != null && length > 0) {
                Pointer.memset(start.withOffset(offset, length), ONES, length);
            }
        }

        /** Whether all bytes are still ones: the first is, and each is as the next. */
        boolean isPoison(long offset, long length) {
            PagedPointer start = base;
            return start == null
                    || length == 0
                    || (new BytePointer(start.withOffset(offset, length)).get() == ONES
                            && Pointer.memcmp(
                                            start.withOffset(offset, length - 1),
                                            start.withOffset(offset + 1, length - 1),
                                            length - 1)
                                    == 0);
        }

        /** Frees for good. */
        synchronized void free() {
            give();
            ledger.closeAccount(account);
        }

        private synchronized void give() {
            Pointer held = memory;
            memory = null;
            base = null;
            bytes = 0;
            if (held != null) {
                space.give(held);
            }
        }
    }
}
