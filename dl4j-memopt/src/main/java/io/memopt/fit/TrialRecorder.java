// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.WorkspaceTable.WorkspaceInfo;
import io.memopt.allocator.nd4j.ScopeObserver;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes down what one thread does to memory, pass by pass. Parameters, gradients, updater state, input and scratch memory of helpers are
 * left out: they are known without a trial. Frees by other threads, i.e. by the garbage collector, are left out too.
 *
 * <p>Threading: hears all threads, takes notes of its own alone.
 */
final class TrialRecorder implements EventSink, ScopeObserver {
    private final MemoryLedger ledger;
    private final long thread = Thread.currentThread().getId();
    private final List<List<Noted>> passes = new ArrayList<>();
    private final Map<Long, Integer> detached = new HashMap<>();
    private List<Noted> current = new ArrayList<>();

    /** A step of known size. */
    record Noted(Step.Op op, String workspace, int owner, long bytes) {}

    /** Listens to the calling thread. */
    TrialRecorder(MemoryLedger ledger) {
        this.ledger = ledger;
    }

    /** What comes next belongs to another pass. */
    void endPass() {
        current.removeIf(noted -> isKnown(noted));
        passes.add(current);
        current = new ArrayList<>();
        detached.clear();
    }

    List<List<Noted>> passes() {
        return passes;
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        if (thread != this.thread) {
            return;
        }
        EventKind kind = EventCode.kind(code);
        if (kind == EventKind.ALLOCATE) {
            if (EventCode.space(code) == MemorySpace.PINNED) {
                return; // the host's, beside a device that arrays lie on
            }
            allocated(EventCode.allocation(code), owner, workspace, address, bytes);
        } else if (kind == EventKind.FREE && EventCode.allocation(code) == AllocationKind.DETACHED) {
            freed(address, bytes);
        } else if (kind == EventKind.SCOPE_ENTER) {
            current.add(new Noted(Step.Op.ENTER, nameOf(workspace), 0, 0));
        } else if (kind == EventKind.RECLASSIFY) {
            reclassified(address, owner);
        }
    }

    @Override
    public void scopeClosed(String workspace) {
        if (Thread.currentThread().getId() == thread) {
            current.add(new Noted(Step.Op.CLOSE, workspace, 0, 0));
        }
    }

    private void allocated(AllocationKind kind, int owner, int workspace, long address, long bytes) {
        if (kind == AllocationKind.DETACHED) {
            detached.put(address, current.size());
            current.add(new Noted(Step.Op.DETACHED, "", owner, bytes));
        } else if (kind != AllocationKind.WORKSPACE_BLOCK) {
            current.add(new Noted(Step.Op.ARRAY, nameOf(workspace), owner, bytes));
        }
    }

    private void freed(long address, long bytes) {
        Integer allocation = detached.remove(address);
        if (allocation != null) {
            current.add(new Noted(Step.Op.FREE, "", current.get(allocation).owner(), bytes));
        }
    }

    private void reclassified(long address, int owner) {
        Integer allocation = detached.get(address);
        if (allocation != null) {
            Noted noted = current.get(allocation);
            current.set(allocation, new Noted(noted.op(), noted.workspace(), owner, noted.bytes()));
        }
    }

    private boolean isKnown(Noted noted) {
        Category category = ledger.owners().ownerOf(noted.owner()).category();
        return noted.workspace().isEmpty()
                && switch (category) {
                    case PARAMETERS, GRADIENTS, UPDATER_STATE, INPUT, HELPER_SCRATCH -> true;
                    default -> false;
                };
    }

    private String nameOf(int workspace) {
        WorkspaceInfo info = ledger.workspaces().get(workspace);
        return info == null ? "" : info.name();
    }
}
