// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The driver's figure of a device's memory, taken apart; all in bytes. Parts add up to the whole: what no part explains is
 * {@link #unattributedBytes()}, which is negative when parts claim more than there is, e.g. because another process gave memory
 * back that nobody told apart.
 *
 * @param usage the driver's figures
 * @param arraysBytes what the ledger knows: workspace blocks, spills, arrays and scratch memory
 * @param pool figures of the pools that arrays are served from
 * @param contextBytes the context of the process and its machine code: what was there before the first array, and, where the driver
 *     does not tell processes apart, other processes
 * @param libraryBytes what libraries took, by name
 */
public record DeviceReconciliation(
        DeviceUsage usage, long arraysBytes, PoolStatistics pool, long contextBytes, Map<String, Long> libraryBytes) {
    /** Without a device. */
    public static final DeviceReconciliation NONE =
            new DeviceReconciliation(DeviceUsage.NONE, 0, PoolStatistics.NONE, 0, Map.of());

    public DeviceReconciliation {
        libraryBytes = Map.copyOf(libraryBytes);
    }

    /** In use by other processes and the driver; 0 where they are not told apart. */
    public long otherBytes() {
        return usage.usedBytes() - usage.attributableBytes();
    }

    /** Held by pools and not handed out. */
    public long poolUnusedBytes() {
        return pool.reservedBytes() - pool.liveBytes();
    }

    /** What is left. */
    public long unattributedBytes() {
        long libraries =
                libraryBytes.values().stream().mapToLong(Long::longValue).sum();
        return usage.attributableBytes() - arraysBytes - poolUnusedBytes() - contextBytes - libraries;
    }

    /** All parts by name, in a steady order; their sum is what is in use on the device. */
    public Map<String, Long> parts() {
        Map<String, Long> parts = new LinkedHashMap<>();
        parts.put("arrays", arraysBytes);
        parts.put("pool_unused", poolUnusedBytes());
        parts.put("context", contextBytes);
        libraryBytes.keySet().stream().sorted().forEach(name -> parts.put(name, libraryBytes.getOrDefault(name, 0L)));
        parts.put("other_processes", otherBytes());
        parts.put("unattributed", unattributedBytes());
        return parts;
    }
}
