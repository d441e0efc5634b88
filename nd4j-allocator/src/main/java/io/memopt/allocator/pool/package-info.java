// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Device memory that is obtained once and handed out many times. {@link io.memopt.allocator.pool.MemoryPool} is the entry;
 * it takes memory from a {@link io.memopt.allocator.pool.MemorySource} and asks
 * {@link io.memopt.allocator.pool.StreamEvents} when a freed block is no longer in use.
 * {@link io.memopt.allocator.pool.SimulatedDevice} is both, without a device.
 *
 * <p>Imports the JDK only.
 */
@NullMarked
package io.memopt.allocator.pool;

import org.jspecify.annotations.NullMarked;
