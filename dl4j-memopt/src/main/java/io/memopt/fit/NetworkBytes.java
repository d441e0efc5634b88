// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

/**
 * What a network holds outside of workspaces, whatever the batch.
 *
 * @param updater state of the updater
 */
record NetworkBytes(long parameters, long gradients, long updater) {}
