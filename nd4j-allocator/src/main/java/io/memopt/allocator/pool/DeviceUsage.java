// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.OptionalLong;

/**
 * What a driver says of the memory of one or several devices, in bytes.
 *
 * @param totalBytes memory that there is
 * @param usedBytes in use by all processes and by the driver itself
 * @param processBytes in use by this process; empty where the driver does not tell processes apart
 */
public record DeviceUsage(long totalBytes, long usedBytes, OptionalLong processBytes) {
    /** No device. */
    public static final DeviceUsage NONE = new DeviceUsage(0, 0, OptionalLong.of(0));

    /** Both together; what is known of one only is unknown. */
    public DeviceUsage plus(DeviceUsage other) {
        boolean known = processBytes.isPresent() && other.processBytes.isPresent();
        return new DeviceUsage(
                totalBytes + other.totalBytes,
                usedBytes + other.usedBytes,
                known
                        ? OptionalLong.of(processBytes.getAsLong() + other.processBytes.getAsLong())
                        : OptionalLong.empty());
    }

    /** The figure that grows with this process: its own, or that of all where the driver does not tell them apart. */
    public long attributableBytes() {
        return processBytes.orElse(usedBytes);
    }
}
