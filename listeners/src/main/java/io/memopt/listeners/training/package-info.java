// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Marks iterations and phases of DL4J training.
 *
 * <p>Imports {@code allocator.event}, {@code allocator.recording} and DL4J.
 */
@NullMarked
package io.memopt.listeners.training;

import org.jspecify.annotations.NullMarked;
