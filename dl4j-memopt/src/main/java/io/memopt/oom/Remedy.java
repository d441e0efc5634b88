// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import java.util.OptionalLong;

/**
 * Something to do about a failure.
 *
 * @param action what to do, a sentence or a line of code
 * @param effect what it changes, with numbers where they are known
 * @param peakBytes the peak that is predicted with it; absent when it is not known
 * @param exactness {@code BITWISE}, {@code REORDERED} or {@code NONE} when it changes no computation
 */
public record Remedy(String action, String effect, OptionalLong peakBytes, String exactness) {}
