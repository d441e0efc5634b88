// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.nd4j.Recording;
import io.memopt.allocator.nd4j.WorkspaceReuse;

/**
 * Blocks and arena of the thread that trains a network with a budget. Inference, and other networks of the thread, share them and
 * have them grow; what grew so is given back before the network trains again. Threading: the training thread.
 */
final class ThreadBlocks {
    private final Recording recording;
    /** At the end of the latest iteration; -1 before the first. */
    private long ownBytes = -1;

    ThreadBlocks(Recording recording) {
        this.recording = recording;
    }

    /** An iteration of the network is over. */
    void iterationEnded() {
        ownBytes = bytes();
    }

    /** The network is about to train. */
    void iterationBegins() {
        if (ownBytes >= 0 && bytes() > ownBytes) {
            giveBack();
        }
    }

    /** What is learnt of other passes does not count. */
    void giveBack() {
        recording.releaseArena();
        WorkspaceReuse.destroyClosed();
        ownBytes = -1;
    }

    private long bytes() {
        return recording.arenaBytes() + WorkspaceReuse.blockBytes();
    }
}
