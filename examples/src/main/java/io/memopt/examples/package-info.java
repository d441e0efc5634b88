// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Runnable programs, each small enough to read at one sitting.
 */
@NullMarked
package io.memopt.examples;

import org.jspecify.annotations.NullMarked;
