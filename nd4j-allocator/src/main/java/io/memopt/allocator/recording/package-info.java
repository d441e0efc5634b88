// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps events: a ring buffer while training runs, a trace file, and replay.
 *
 * <p>Imports {@code event} and {@code pool}.
 */
@NullMarked
package io.memopt.allocator.recording;

import org.jspecify.annotations.NullMarked;
