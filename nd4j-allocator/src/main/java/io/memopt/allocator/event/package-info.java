// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What happens to memory, as values: events, the ids they carry, and the sinks that take them.
 *
 * <p>Imports nothing beyond the JDK, SLF4J and JSpecify.
 */
@NullMarked
package io.memopt.allocator.event;

import org.jspecify.annotations.NullMarked;
