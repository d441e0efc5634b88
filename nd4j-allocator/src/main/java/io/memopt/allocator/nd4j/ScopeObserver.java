// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;

/**
 * Hears how a thread moves through workspaces. Called on that thread, before the first allocation that the new scope
 * serves. Must be quick and must not throw.
 */
public interface ScopeObserver {

    /**
     * Someone asked for a workspace with this very configuration object. Deeplearning4j keeps one object per network, so
     * its identity (not its equality) names the network.
     */
    default void configurationUsed(WorkspaceConfiguration configuration, String workspace) {}

    /** Whether it wants to know when workspaces of this name are opened and closed; asked seldom, so that the answer may not change. */
    default boolean hears(String workspace) {
        return true;
    }

    /** A workspace was opened; neither re-entered nor borrowed. */
    default void scopeEntered(String workspace) {}

    /** The scope that {@link #scopeEntered} announced has ended. */
    default void scopeClosed(String workspace) {}
}
