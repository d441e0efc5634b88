// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

/** Where device memory of workspaces and arrays comes from on CUDA; no difference on CPU. */
public enum DeviceMemory {
    /** As ND4J has it: {@code cudaMalloc} and {@code cudaFree} for each block and array. */
    PLAIN,
    /**
     * One pool for each device: a block that was freed serves the next one without the driver, and workspaces grow in place.
     * Class of exactness {@code BITWISE}.
     */
    POOL
}
