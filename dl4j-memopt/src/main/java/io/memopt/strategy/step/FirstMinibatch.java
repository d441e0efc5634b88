// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.listeners.training.ModelObserver;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.SolverAccess;
import java.lang.ref.WeakReference;
import java.util.function.Predicate;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.deeplearning4j.optimize.solvers.StochasticGradientDescent;

/**
 * Has something done when a network is about to compute its first minibatch: on the training thread, with the minibatch in the
 * network and nothing computed yet. Holds the network weakly.
 */
public final class FirstMinibatch implements ModelObserver, AutoCloseable {
    private final WeakReference<Model> network;
    private final TrainingTracker tracker;
    private final Predicate<Model> action;
    private boolean waits = true;

    private FirstMinibatch(Model model, TrainingTracker tracker, Predicate<Model> action) {
        this.network = new WeakReference<>(model);
        this.tracker = tracker;
        this.action = action;
    }

    /**
     * Waits for the next minibatch of {@code model}. What {@code action} throws comes out of {@code fit}, and the next minibatch is
     * waited for; so it is when the answer is false, and the network's own optimizer trains this one.
     */
    public static FirstMinibatch await(Model model, TrainingTracker tracker, Predicate<Model> action) {
        FirstMinibatch waiting = new FirstMinibatch(model, tracker, action);
        waiting.install(model);
        tracker.addModelObserver(waiting);
        return waiting;
    }

    /** The network's own optimizer is back, until {@link #resume}. */
    public void pause() {
        Model model = network.get();
        if (model != null) {
            restore(model);
        }
    }

    /** Waits again, unless it was closed. */
    public void resume() {
        Model model = network.get();
        if (waits && model != null) {
            install(model);
        }
    }

    /** Waits no more; the network's own optimizer is back. */
    @Override
    public void close() {
        waits = false;
        tracker.removeModelObserver(this);
        pause();
    }

    @Override
    public void epochBegins(Model model) {
        if (waits && network.refersTo(model)) {
            install(model);
        }
    }

    private boolean came(Model model) {
        restore(model);
        boolean done;
        try {
            done = action.test(model);
        } catch (RuntimeException | Error e) {
            install(model);
            throw e;
        }
        if (waits && done) {
            close();
        }
        return done;
    }

    private void install(Model model) {
        ConvexOptimizer optimizer = SolverAccess.currentOrNew(model);
        if (optimizer.getClass() == StochasticGradientDescent.class) {
            SolverAccess.replace(model, new UndecidedStep((BaseOptimizer) optimizer, model, this::came, this::resume));
        }
    }

    private static void restore(Model model) {
        if (SolverAccess.current(model) instanceof UndecidedStep step) {
            SolverAccess.replace(model, step.restored());
        }
    }
}
