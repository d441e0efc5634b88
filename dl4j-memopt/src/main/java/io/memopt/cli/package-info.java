// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The command line: {@link io.memopt.cli.Main}. What its classes reach must work without ND4J, for the jar has none.
 *
 * <p>May import every package of this module, of which the jar holds {@code analysis} and {@code report} only.
 */
@NullMarked
package io.memopt.cli;

import org.jspecify.annotations.NullMarked;
