// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

/** Java garbage collections of the run; {@code forced} counts those that someone called {@link System#gc()} for. */
public record GcRow(long collections, long nanos, long forced, long forcedNanos, long longestForcedNanos) {}
