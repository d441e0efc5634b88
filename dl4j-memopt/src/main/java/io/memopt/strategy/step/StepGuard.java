// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import java.util.Optional;
import org.deeplearning4j.nn.api.Model;

/** Decides what becomes of iterations that run out of memory. Threading: called on the training thread. */
public interface StepGuard {
    /** Whether {@code failure} says that memory ran out. Others are none of the guard's business. */
    boolean isExhaustion(Throwable failure);

    /**
     * An iteration failed and is undone: parameters, updater state, counters, random generator and layers are those from before,
     * and the workspaces of the thread's networks are given back.
     *
     * @return how to do it again; empty for not at all, and then the failure goes to the caller of {@code fit}
     */
    Optional<StepOptions> failed(FailedStep step);

    /** What came after the update failed; the iteration was completed without it, and the failure goes to the caller of {@code fit}. */
    void failedAfterUpdate(FailedStep step);

    /**
     * An iteration is over.
     *
     * @param attempts 1 if nothing failed
     */
    void succeeded(Model model, int attempts);

    /** The guard of a copy of the network, which another thread trains. */
    StepGuard ofCopy();
}
