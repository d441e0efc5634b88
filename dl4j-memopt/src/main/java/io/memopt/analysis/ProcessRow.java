// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

/**
 * The process as the operating system sees it, from samples of about one a second.
 *
 * @param samples how many
 * @param maxResidentBytes most physical memory
 * @param lastResidentBytes the same at the last sample
 * @param lastJavaBytes part of it that the JVM explains: touched heap, metaspace, code cache, direct buffers
 * @param maxUnattributedBytes most that neither the JVM nor the recorded host and pinned memory explained; native
 *     temporaries, what the C allocator keeps, thread stacks, libraries. An estimate, as known memory counts in full whether it
 *     was touched or not
 * @param lastUnattributedBytes the same at the last sample
 */
public record ProcessRow(
        long samples,
        long maxResidentBytes,
        long lastResidentBytes,
        long lastJavaBytes,
        long maxUnattributedBytes,
        long lastUnattributedBytes) {}
