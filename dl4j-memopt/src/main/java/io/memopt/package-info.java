// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Entry point and configuration.
 *
 * <p>May import every other package of the project.
 */
@NullMarked
package io.memopt;

import org.jspecify.annotations.NullMarked;
