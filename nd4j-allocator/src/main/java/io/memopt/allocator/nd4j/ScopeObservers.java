// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.ArrayList;
import java.util.List;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;

/** The observers of a recording, in order of registration. Threading: safe. */
final class ScopeObservers {
    private volatile List<ScopeObserver> all = List.of();

    synchronized void add(ScopeObserver observer) {
        if (!all.contains(observer)) {
            List<ScopeObserver> more = new ArrayList<>(all);
            more.add(observer);
            all = List.copyOf(more);
        }
    }

    synchronized void remove(ScopeObserver observer) {
        all = all.stream().filter(other -> other != observer).toList();
    }

    /** Those of now; another list as soon as somebody is added or removed. */
    List<ScopeObserver> all() {
        return all;
    }

    void configurationUsed(WorkspaceConfiguration configuration, String workspace) {
        for (ScopeObserver observer : all) {
            observer.configurationUsed(configuration, workspace);
        }
    }
}
