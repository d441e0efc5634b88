// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Traces in the formats of other tools: {@link io.memopt.cli.format.ExportFormat} and
 * {@link io.memopt.cli.format.ImportFormat}.
 */
@NullMarked
package io.memopt.cli.format;

import org.jspecify.annotations.NullMarked;
