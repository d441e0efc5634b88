// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

/** What the host memory is that ND4J keeps beside each workspace on CUDA and hardly ever looks at; no difference on CPU. */
public enum HostMirrors {
    /** As ND4J has it: page-locked, which takes about 0.6 s for each GB. */
    PINNED,
    /**
     * Pageable memory that nobody touches, so that it takes neither time nor room. Memory that kernels work on directly, that
     * prefetching iterators fill, and what a program asks for itself stays page-locked, from a pool that keeps up to 256 MiB.
     * Class of exactness {@code BITWISE}.
     */
    UNTOUCHED
}
