// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Proofs for tests: {@link io.memopt.verify.MemoryAssertions} says what a network may take, {@link
 * io.memopt.verify.TwinRun} what a change does to its numbers. Both throw {@link AssertionError} and need no test framework.
 *
 * <p>Imports {@code analysis}, {@code strategy}, {@code listeners}, {@code allocator}, ND4J, Deeplearning4j and Gson.
 */
@NullMarked
package io.memopt.verify;

import org.jspecify.annotations.NullMarked;
