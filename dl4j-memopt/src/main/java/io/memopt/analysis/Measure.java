// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

/** Which of two sums; see {@code MemoryLedger}. */
public enum Measure {
    /** Held from the operating system or driver: detached arrays, workspace blocks, spills. */
    RESERVED,
    /** Bytes of arrays, those inside workspace blocks included and the free part of blocks left out. */
    IN_USE
}
