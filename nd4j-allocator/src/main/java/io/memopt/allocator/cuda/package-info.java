// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Memory of CUDA devices, through the driver. {@link io.memopt.allocator.cuda.CudaPools} is the entry. Loaded only where a
 * CUDA backend is.
 *
 * <p>Imports {@code pool} and the CUDA bindings.
 */
@NullMarked
package io.memopt.allocator.cuda;

import org.jspecify.annotations.NullMarked;
