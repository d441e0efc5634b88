// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import java.util.List;
import java.util.OptionalLong;

/**
 * What is known of a process whose memory ran out. Bytes; absent is not known or not in force.
 *
 * @param residentBytes physical memory of the process
 * @param tensorBytes detached arrays, off-heap
 * @param workspaceBytes blocks and spills of workspaces, off-heap
 * @param heapCommittedBytes Java heap that the JVM has taken
 * @param heapMaxBytes {@code -Xmx}
 * @param physicalCapBytes JavaCPP's {@code maxphysicalbytes}
 * @param javacppCapBytes JavaCPP's {@code maxbytes}
 * @param holders who has the bytes, largest first
 */
public record MemoryState(
        OptionalLong residentBytes,
        long tensorBytes,
        long workspaceBytes,
        long heapCommittedBytes,
        OptionalLong heapMaxBytes,
        OptionalLong physicalCapBytes,
        OptionalLong javacppCapBytes,
        List<Holder> holders) {

    public MemoryState {
        holders = List.copyOf(holders);
    }

    /**
     * Someone who holds memory.
     *
     * @param what in words, e.g. {@code "15 detached arrays, made by Trainer.load:42"}
     */
    public record Holder(String what, long bytes) {}
}
