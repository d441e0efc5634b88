// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.oom.MemoryState;
import java.util.OptionalLong;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/** What a guard needs from who runs it. Threading: called on the training thread. */
public interface Strategies {
    /** Whether workspaces are planned. */
    boolean isPlanned();

    /**
     * Plans workspaces from now on, from the first examples of {@code sample}.
     *
     * @return bytes of the arena that {@code examples} of them take; empty when no plan follows, and then nothing was begun that was
     *     not before
     */
    OptionalLong plan(Model model, MultiDataSet sample, int examples);

    /** Who holds memory now. */
    MemoryState state();
}
