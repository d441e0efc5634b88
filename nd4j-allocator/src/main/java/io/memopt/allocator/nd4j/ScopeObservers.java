// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.concurrent.CopyOnWriteArrayList;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;

/** The observers of a recording, in order of registration. */
final class ScopeObservers implements ScopeObserver {
    private final CopyOnWriteArrayList<ScopeObserver> all = new CopyOnWriteArrayList<>();

    void add(ScopeObserver observer) {
        all.addIfAbsent(observer);
    }

    void remove(ScopeObserver observer) {
        all.remove(observer);
    }

    @Override
    public void configurationUsed(WorkspaceConfiguration configuration, String workspace) {
        for (ScopeObserver observer : all) {
            observer.configurationUsed(configuration, workspace);
        }
    }

    @Override
    public void scopeEntered(String workspace) {
        for (ScopeObserver observer : all) {
            observer.scopeEntered(workspace);
        }
    }

    @Override
    public void scopeClosed(String workspace) {
        for (ScopeObserver observer : all) {
            observer.scopeClosed(workspace);
        }
    }
}
