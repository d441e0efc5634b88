// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Events for Java Flight Recorder.
 *
 * <p>Imports {@code allocator.event} and {@code allocator.recording}.
 */
@NullMarked
package io.memopt.listeners.jfr;

import org.jspecify.annotations.NullMarked;
