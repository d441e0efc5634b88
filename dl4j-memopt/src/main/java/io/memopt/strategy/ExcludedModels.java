// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.deeplearning4j.nn.api.Model;

/** Networks whose passes are left to ND4J for now. They are held weakly. Threading: safe. */
public final class ExcludedModels {
    private final List<WeakReference<Model>> models = new CopyOnWriteArrayList<>();

    /** Leaves {@code model} out; does nothing where it is. */
    public synchronized void add(Model model) {
        if (!contains(model)) {
            models.add(new WeakReference<>(model));
        }
    }

    /** Lets {@code model} in again. */
    public synchronized void remove(Model model) {
        models.removeIf(one -> one.refersTo(model) || one.refersTo(null));
    }

    /** Whether none is left out. */
    public boolean isEmpty() {
        return models.stream().allMatch(one -> one.refersTo(null));
    }

    public boolean contains(Model model) {
        for (WeakReference<Model> one : models) {
            if (one.refersTo(model)) {
                return true;
            }
        }
        return false;
    }
}
