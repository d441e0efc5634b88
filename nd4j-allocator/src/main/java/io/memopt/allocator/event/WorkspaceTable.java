// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Numbers workspace instances from 1; 0 means "no workspace". ND4J keeps one instance per thread and name, so an instance
 * tells which thread's workspace an array is in.
 *
 * <p>Threading: all methods may be called from any thread. An entry lives until {@link #remove}; numbers are not reused.
 */
public final class WorkspaceTable {
    /** "No workspace". */
    public static final int NONE = 0;

    private final AtomicInteger last = new AtomicInteger();
    private final ConcurrentHashMap<Integer, WorkspaceInfo> instances = new ConcurrentHashMap<>();

    /** One workspace instance. {@code threadId} is its creator, the only thread that allocates in it. */
    public record WorkspaceInfo(int id, String name, long threadId, String threadName, boolean circular) {}

    /** Registers a new instance and returns its number. */
    public int add(String name, Thread thread, boolean circular) {
        int id = last.incrementAndGet();
        instances.put(id, new WorkspaceInfo(id, name, thread.getId(), thread.getName(), circular));
        return id;
    }

    public @Nullable WorkspaceInfo get(int id) {
        return instances.get(id);
    }

    public void remove(int id) {
        instances.remove(id);
    }

    public Collection<WorkspaceInfo> all() {
        return List.copyOf(instances.values());
    }
}
