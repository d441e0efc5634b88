// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;

/** A workspace that reports to a recording, for as long as that is the current one. */
interface RecordedWorkspace {

    /** True when what it reports is heard. */
    boolean isRecorded();

    /**
     * True when {@code workspace} should give way to a recorded one: it is ND4J's own, or reports to a recording that has
     * ended. Never while its scope is open: an attach may come amid an iteration of another thread. A user's subclass
     * stays.
     *
     * @param stock ND4J's own class
     */
    static boolean isReplaceable(@Nullable MemoryWorkspace workspace, Class<?> stock) {
        boolean unrecorded = workspace instanceof RecordedWorkspace recorded
                ? !recorded.isRecorded()
                : workspace != null && workspace.getClass() == stock;
        return workspace != null && unrecorded && !workspace.isScopeActive();
    }
}
