// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Arrays that a network needs seldom, in files that are mapped into memory: the operating system may write them out and read them
 * again. {@link io.memopt.strategy.offload.UpdaterOffload} does so with the state of an updater, {@link
 * io.memopt.strategy.offload.OutputFiles} with outputs of layers.
 */
@NullMarked
package io.memopt.strategy.offload;

import org.jspecify.annotations.NullMarked;
