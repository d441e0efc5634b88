// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.jfr;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;

/**
 * Hands memory events on to the Flight Recorder, each with the JFR type of its kind. Kinds that no recording has switched
 * on cost one look. {@link JfrBridge} attaches it only while a recording wants it.
 *
 * <p>Threading: any thread; events carry the calling thread, as JFR has it.
 */
public final class JfrSink implements EventSink {
    private final OwnerTable owners;

    /**
     * A sink for the events of one recording.
     *
     * @param owners resolves the owner numbers of the events
     */
    public JfrSink(OwnerTable owners) {
        this.owners = owners;
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        switch (EventCode.kind(code)) {
            case ALLOCATE -> allocated(code, owner, address, bytes, extra);
            case FREE -> freed(code, owner, address, bytes, extra);
            case TRANSFER -> transferred(code, owner, bytes, extra);
            case SCOPE_ENTER -> scopeEntered(owner, bytes, extra);
            case SCOPE_RELEASE -> scopeReleased(owner, bytes, extra);
            case ITERATION -> iterated(owner, bytes, extra);
            case ALLOCATION_FAILURE -> failed(code, owner, bytes);
            case CONTEXT, RECLASSIFY, GARBAGE_COLLECTION, LAST_USE, ORIGIN, PROCESS -> {}
        }
    }

    private void allocated(int code, int owner, long address, long requested, long rounded) {
        JfrTypes.Allocation event = new JfrTypes.Allocation();
        if (event.shouldCommit()) {
            event.kind = EventCode.allocation(code).name();
            event.space = EventCode.space(code).name();
            event.address = address;
            event.requestedBytes = requested;
            event.roundedBytes = rounded;
            commit(event, owner);
        }
    }

    private void freed(int code, int owner, long address, long rounded, long age) {
        JfrTypes.Free event = new JfrTypes.Free();
        if (event.shouldCommit()) {
            event.kind = EventCode.allocation(code).name();
            event.space = EventCode.space(code).name();
            event.address = address;
            event.roundedBytes = rounded;
            event.age = age;
            commit(event, owner);
        }
    }

    private void transferred(int code, int owner, long bytes, long waited) {
        JfrTypes.Transfer event = new JfrTypes.Transfer();
        if (event.shouldCommit()) {
            event.direction = EventCode.direction(code).name();
            event.bytes = bytes;
            event.waited = waited;
            commit(event, owner);
        }
    }

    private void scopeEntered(int owner, long reserved, long generation) {
        JfrTypes.ScopeEnter event = new JfrTypes.ScopeEnter();
        if (event.shouldCommit()) {
            event.reservedBytes = reserved;
            event.generation = generation;
            commit(event, owner);
        }
    }

    private void scopeReleased(int owner, long arrays, long reserved) {
        JfrTypes.ScopeRelease event = new JfrTypes.ScopeRelease();
        if (event.shouldCommit()) {
            event.arrayBytes = arrays;
            event.reservedBytes = reserved;
            commit(event, owner);
        }
    }

    private void iterated(int owner, long iteration, long epoch) {
        JfrTypes.Iteration event = new JfrTypes.Iteration();
        if (event.shouldCommit()) {
            event.iteration = iteration;
            event.epoch = epoch;
            commit(event, owner);
        }
    }

    private void failed(int code, int owner, long requested) {
        JfrTypes.AllocationFailure event = new JfrTypes.AllocationFailure();
        if (event.shouldCommit()) {
            event.space = EventCode.space(code).name();
            event.requestedBytes = requested;
            commit(event, owner);
        }
    }

    private void commit(MemoryJfrEvent event, int owner) {
        event.ownedBy(owner >= 0 && owner < owners.size() ? owners.ownerOf(owner) : Owner.UNKNOWN);
        event.commit();
    }
}
