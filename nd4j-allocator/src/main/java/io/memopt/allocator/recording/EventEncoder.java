// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.EventSource;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.SiteTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.event.WorkspaceTable.WorkspaceInfo;
import java.util.BitSet;

/** Writes events and the definitions they need into blocks, as {@link TraceFormat} says. Threading: confined. */
final class EventEncoder implements EventSink {
    /** Ids above this are defined at every change instead of remembered: 2^22 bits are 512 KiB. */
    private static final int REMEMBERED_IDS = 1 << 22;

    private static final int KINDS = EventKind.values().length;
    private static final int ALLOCATE = EventKind.ALLOCATE.ordinal();
    private static final int RECLASSIFY = EventKind.RECLASSIFY.ordinal();
    private static final int ORIGIN = EventKind.ORIGIN.ordinal();

    /** No {@link Thread#getId()}. */
    private static final long NO_THREAD = Long.MIN_VALUE;
    /** No int. */
    private static final long NO_OWNER = Long.MIN_VALUE;

    private final OwnerTable owners;
    private final WorkspaceTable workspaces;
    private final SiteTable sites;
    private final BitSet ownersDefined = new BitSet();
    private final BitSet workspacesDefined = new BitSet();
    private final BitSet threadsDefined = new BitSet();
    private final BitSet sitesDefined = new BitSet();
    private final TraceBuffer body = new TraceBuffer(TraceFormat.BLOCK_SLACK_BYTES);

    private volatile EventSource source = EventSource.NONE;
    private TraceBuffer out;
    private long lastTime;
    private long lastThread;
    private long lastOwner;
    private final int[] lastShape = new int[KINDS];
    private final int[] lastWorkspace = new int[KINDS];
    private final long[] lastAddress = new long[KINDS];

    EventEncoder(OwnerTable owners, WorkspaceTable workspaces, SiteTable sites, TraceBuffer first) {
        this.owners = owners;
        this.workspaces = workspaces;
        this.sites = sites;
        this.out = first;
    }

    /** Threads other than the calling one have the names that {@code events} knows; of any other the name is left open. */
    void nameThreadsBy(EventSource events) {
        source = events;
    }

    /** Goes on in {@code buffer}; deltas start anew. */
    void begin(TraceBuffer buffer, long baseTimeNanos) {
        out = buffer;
        lastTime = baseTimeNanos;
        lastThread = NO_THREAD;
        lastOwner = NO_OWNER;
        for (int kind = 0; kind < KINDS; kind++) {
            lastShape[kind] = -1;
            lastWorkspace[kind] = WorkspaceTable.NONE;
            lastAddress[kind] = 0;
        }
    }

    /** All definitions are written again when needed next. */
    void forgetDefinitions() {
        ownersDefined.clear();
        workspacesDefined.clear();
        threadsDefined.clear();
        sitesDefined.clear();
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        int kind = code & 0xff;
        int shape = code >>> 8;
        int head = kind;
        if (thread == lastThread) {
            head |= TraceFormat.SAME_THREAD;
        } else {
            defineThread(thread);
        }
        if (owner == lastOwner) {
            head |= TraceFormat.SAME_OWNER;
        } else {
            defineOwner(owner);
        }
        if (shape == lastShape[kind] && workspace == lastWorkspace[kind]) {
            head |= TraceFormat.SAME_SHAPE;
        } else {
            defineWorkspace(workspace);
        }
        if (kind == RECLASSIFY) {
            defineOwner((int) extra);
        } else if (kind == ORIGIN) {
            defineSite((int) extra);
        }
        putEvent(head, timeNanos, thread, owner, shape, workspace);
        putFigures(kind, address, bytes, extra);
    }

    private void putEvent(int head, long timeNanos, long thread, int owner, int shape, int workspace) {
        TraceBuffer buffer = out;
        buffer.putByte(head);
        buffer.putZigzag(timeNanos - lastTime);
        lastTime = timeNanos;
        if ((head & TraceFormat.SAME_THREAD) == 0) {
            buffer.putVarint(thread);
            lastThread = thread;
        }
        if ((head & TraceFormat.SAME_OWNER) == 0) {
            buffer.putVarint(owner);
            lastOwner = owner;
        }
        if ((head & TraceFormat.SAME_SHAPE) == 0) {
            int kind = head & TraceFormat.KIND_MASK;
            buffer.putVarint(shape);
            buffer.putVarint(workspace);
            lastShape[kind] = shape;
            lastWorkspace[kind] = workspace;
        }
    }

    private void putFigures(int kind, long address, long bytes, long extra) {
        TraceBuffer buffer = out;
        buffer.putZigzag(address - lastAddress[kind]);
        lastAddress[kind] = address;
        buffer.putVarint(bytes);
        if (kind == ALLOCATE) {
            buffer.putZigzag(extra - bytes);
        } else {
            buffer.putVarint(extra);
        }
    }

    private void defineOwner(int id) {
        if (id < 0 || id >= owners.capacity() || !isNew(ownersDefined, id) || id >= owners.size()) {
            return;
        }
        Owner owner = owners.ownerOf(id);
        body.position = 0;
        body.putVarint(id);
        body.putVarint(owner.phase().ordinal());
        body.putVarint(owner.category().ordinal());
        body.putName(owner.network());
        body.putName(owner.layer());
        body.putName(owner.workspace());
        define(TraceFormat.DEFINE_OWNER);
    }

    /** An instance that is gone by now and was never seen before stays nameless. */
    private void defineWorkspace(int id) {
        if (id == WorkspaceTable.NONE || !isNew(workspacesDefined, id)) {
            return;
        }
        WorkspaceInfo info = workspaces.get(id);
        if (info == null) {
            return;
        }
        body.position = 0;
        body.putVarint(id);
        body.putVarint(info.threadId());
        body.putByte(info.circular() ? 1 : 0);
        body.putName(info.name());
        body.putName(info.threadName());
        define(TraceFormat.DEFINE_WORKSPACE);
    }

    private void defineSite(int id) {
        String site = sites.siteOf(id);
        if (site.isEmpty() || !isNew(sitesDefined, id)) {
            return;
        }
        body.position = 0;
        body.putVarint(id);
        body.putName(site);
        define(TraceFormat.DEFINE_SITE);
    }

    private void defineThread(long id) {
        Thread current = Thread.currentThread();
        String name = current.getId() == id ? current.getName() : source.threadName(id);
        if (name == null || !isNew(threadsDefined, id)) {
            return;
        }
        body.position = 0;
        body.putVarint(id);
        body.putName(name);
        define(TraceFormat.DEFINE_THREAD);
    }

    private void define(int type) {
        out.putByte(type);
        out.putVarint(body.position);
        out.putBytes(body.bytes, body.position);
    }

    private static boolean isNew(BitSet defined, long id) {
        if (id < 0 || id >= REMEMBERED_IDS) {
            return true;
        }
        if (defined.get((int) id)) {
            return false;
        }
        defined.set((int) id);
        return true;
    }
}
