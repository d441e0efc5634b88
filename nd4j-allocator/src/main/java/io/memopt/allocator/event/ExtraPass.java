// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

/** Why a forward and backward pass was computed that is no iteration of training. */
public enum ExtraPass {
    /** Of a copy of a network, to tell what the network takes. */
    TRIED,
    /** Of the network itself, to learn what its passes take before training makes them. */
    REHEARSED,
    /** Of a minibatch that was just computed, to prove that a plan gives the same bits. */
    VERIFIED,
    /** Of a minibatch whose pass ran out of memory and was undone. */
    REPEATED
}
