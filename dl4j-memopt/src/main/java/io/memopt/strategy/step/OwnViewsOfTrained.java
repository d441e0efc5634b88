// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.listeners.training.ModelObserver;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;

/**
 * Begins {@link OwnViews} for every network that trains, after the iteration in which its gradients and updater came to be, and ends
 * it for all. A network that gets another updater has them again after its next iteration. Threading: any.
 */
public final class OwnViewsOfTrained implements ModelObserver, AutoCloseable {
    private final List<WeakReference<Model>> begun = new ArrayList<>();
    private boolean closed;

    @Override
    public synchronized void iterationEnded(Model model) {
        if (!closed && OwnViews.isWanting(model)) {
            OwnViews.use(model);
            begun.removeIf(known -> known.refersTo(null) || known.refersTo(model));
            begun.add(new WeakReference<>(model));
        }
    }

    /** Networks have their updaters as they were; must not be called while they train. */
    @Override
    public synchronized void close() {
        closed = true;
        for (WeakReference<Model> known : begun) {
            Model model = known.get();
            if (model != null) {
                OwnViews.end(model);
            }
        }
        begun.clear();
    }
}
