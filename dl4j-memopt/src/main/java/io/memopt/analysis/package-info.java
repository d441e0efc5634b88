// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What a recorded run tells: {@link io.memopt.analysis.TraceAnalyzer} reads a trace and answers with a
 * {@link io.memopt.analysis.TraceAnalysis}. Needs neither ND4J nor Deeplearning4j.
 *
 * <p>May import {@code io.memopt.allocator.event}, {@code .recording}, {@code .plan} and {@code .reuse} only.
 */
@NullMarked
package io.memopt.analysis;

import org.jspecify.annotations.NullMarked;
