// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.Optional;

/**
 * Remembers tables by key. Threading: safe. Neither method throws: what cannot be remembered is looked for again.
 */
public interface AlgorithmStore {
    Optional<AlgorithmTable> find(String key);

    void put(String key, AlgorithmTable table);
}
