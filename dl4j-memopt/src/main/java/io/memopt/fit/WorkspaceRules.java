// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.SpillPolicy;

/**
 * How a workspace finds its size.
 *
 * @param learning when the block is made
 * @param cycles number of scopes after which {@link LearningPolicy#OVER_TIME} makes it
 * @param margin share added to the first block only, 0 for none
 * @param grows true when a fuller scope makes a larger block
 * @param initialBytes size at the start
 * @param minBytes least size of a learnt block
 * @param maxBytes largest, 0 for no limit
 */
record WorkspaceRules(
        LearningPolicy learning,
        int cycles,
        double margin,
        boolean grows,
        long initialBytes,
        long minBytes,
        long maxBytes) {

    static WorkspaceRules of(WorkspaceConfiguration configuration) {
        return new WorkspaceRules(
                configuration.getPolicyLearning(),
                configuration.getCyclesBeforeInitialization(),
                configuration.getPolicyAllocation() == AllocationPolicy.OVERALLOCATE
                        ? configuration.getOverallocationLimit()
                        : 0,
                configuration.getPolicySpill() == SpillPolicy.REALLOCATE,
                configuration.getInitialSize(),
                configuration.getMinSize(),
                configuration.getMaxSize());
    }

    /** Sized by the first scope, as Deeplearning4j does for the activations of a whole pass. */
    static WorkspaceRules firstLoop(double margin) {
        return new WorkspaceRules(LearningPolicy.FIRST_LOOP, 0, margin, true, 0, 0, 0);
    }

    /** Sized after {@code cycles} scopes, as Deeplearning4j does for single layers. */
    static WorkspaceRules overTime(int cycles, double margin) {
        return new WorkspaceRules(LearningPolicy.OVER_TIME, cycles, margin, true, 0, 0, 0);
    }
}
