// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Arrays that a network needs seldom, elsewhere: in files that are mapped into memory, which the operating system may write out and
 * read again, or, with a device, in page-locked memory of its host. {@link io.memopt.strategy.offload.Offload} says where, {@link
 * io.memopt.strategy.offload.UpdaterOffload} does so with the state of an updater, {@link io.memopt.strategy.offload.OutputStore} with
 * outputs of layers.
 */
@NullMarked
package io.memopt.strategy.offload;

import org.jspecify.annotations.NullMarked;
