// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.allocator.recording.AvailableMemory;
import io.memopt.allocator.recording.MemoryLimits;
import java.util.OptionalLong;

/**
 * Host memory as the system tells it. Bytes.
 *
 * @param total of the machine, or the container's limit if that is less
 * @param available what could be handed out without swapping, absent where {@code /proc} is
 */
record SystemMemory(OptionalLong total, OptionalLong available) {
    static SystemMemory now() {
        MemoryLimits limits = MemoryLimits.current();
        OptionalLong total = limits.containerBytes().isPresent() ? limits.containerBytes() : limits.physicalBytes();
        return new SystemMemory(total, AvailableMemory.bytes());
    }
}
