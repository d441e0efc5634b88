// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The hooks into ND4J, and the only place where this module meets its interfaces.
 *
 * <p>Imports {@code event}, {@code pool}, {@code recording}, {@code use}, {@code plan}, ND4J and Byte Buddy.
 */
@NullMarked
package io.memopt.allocator.nd4j;

import org.jspecify.annotations.NullMarked;
