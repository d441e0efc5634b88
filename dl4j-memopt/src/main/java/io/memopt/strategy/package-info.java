// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What gives bytes back. {@link io.memopt.strategy.PlannedReuse} has a network's workspaces share one planned arena and proves
 * before it does so that results stay the same; {@link io.memopt.strategy.GarbageRelease} frees what layers leave to the Java
 * garbage collector.
 */
@NullMarked
package io.memopt.strategy;

import org.jspecify.annotations.NullMarked;
