// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import io.memopt.allocator.event.Count;
import io.memopt.listeners.training.ModelObserver;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.SolverAccess;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.deeplearning4j.optimize.solvers.StochasticGradientDescent;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Networks whose training step is ours. Our optimizer stands in the network's own solver, with the updater that was there, and
 * goes out with {@link #detach}. {@code net.clear()} drops a solver; ours is back when the next epoch begins, or, with single
 * calls of {@code fit}, after the first iteration.
 *
 * <p>Networks are held weakly. Threading: safe; a network's own step runs on its training thread.
 */
public final class TrainingSteps implements ModelObserver, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(TrainingSteps.class);

    private final TrainingTracker tracker;
    private final List<Entry> entries = new CopyOnWriteArrayList<>();

    private TrainingSteps(TrainingTracker tracker) {
        this.tracker = tracker;
    }

    /** Begins for networks that {@code tracker} observes; none is touched yet. */
    public static TrainingSteps begin(TrainingTracker tracker) {
        TrainingSteps steps = new TrainingSteps(tracker);
        tracker.addModelObserver(steps);
        return steps;
    }

    /**
     * Refuses what cannot be done exactly as promised.
     *
     * @throws IllegalArgumentException with the layer or setting that stands in the way
     */
    public static void check(Model model, StepOptions options) {
        refusal(model, options).ifPresent(why -> {
            throw new IllegalArgumentException(why);
        });
    }

    /**
     * Refuses what cannot be done beside a budget, which may use the offload of {@code asked}.
     *
     * @throws IllegalArgumentException with the layer or setting that stands in the way
     */
    public static void checkBesideBudget(Model model, StepOptions asked) {
        check(model, asked.withoutOutputOffload());
        StepCheck.outputOffloadRefusal(asked).ifPresent(why -> {
            throw new IllegalArgumentException(why);
        });
    }

    /**
     * Bytes that a guarded step of {@code model} keeps from one iteration to the next.
     *
     * @param updaterBytes of the updater's state
     * @param gradientBytes of gradients that are gathered over several minibatches; 0 when each has its update
     */
    public static long guardBytes(Model model, long updaterBytes, long gradientBytes) {
        long parameters = Constraints.among(model)
                ? model.numParams() * model.params().dataType().width()
                : 0;
        return updaterBytes + gradientBytes + parameters;
    }

    /** Why {@code model} cannot be trained with {@code options}; empty when it can. */
    public static Optional<String> refusal(Model model, StepOptions options) {
        return StepCheck.refusal(model, options);
    }

    /**
     * Trains {@code model} by {@code options} from its next iteration on. Call it between iterations. Does nothing when its
     * step is ours already; the options of the first call stay.
     *
     * @throws IllegalArgumentException as {@link #check} does
     */
    public void attach(Model model, StepOptions options) {
        attach(model, options, null);
    }

    /**
     * As {@link #attach(Model, StepOptions)}; iterations that run out of memory are undone.
     *
     * @param guard decides what becomes of them; null leaves them as Deeplearning4j does
     */
    public void attach(Model model, StepOptions options, @Nullable StepGuard guard) {
        attach(model, options, guard, its -> {});
    }

    /**
     * As {@link #attach(Model, StepOptions, StepGuard)}.
     *
     * @param arriving hears of each minibatch where a step of ours is in effect
     */
    public synchronized void attach(
            Model model, StepOptions options, @Nullable StepGuard guard, ArrivingMinibatch arriving) {
        check(model, options);
        entries.removeIf(TrainingSteps::isOver);
        if (find(model) == null) {
            Entry entry = new Entry(model, options, guard, arriving, new GradientWork(options, tracker, model));
            install(model, entry);
            entries.add(entry);
        }
    }

    /** Gives {@code model} its own step back; gradients gathered for an update that is not complete are dropped, and told. */
    public synchronized void detach(Model model) {
        Entry entry = find(model);
        if (entry != null) {
            entries.remove(entry);
            restore(model, entry);
        }
    }

    @Override
    public synchronized void close() {
        tracker.removeModelObserver(this);
        for (Entry entry : entries) {
            Model model = entry.model.get();
            if (model == null) {
                entry.work.close();
            } else {
                restore(model, entry);
            }
        }
        entries.clear();
    }

    /**
     * Updates {@code model} with the gradients gathered since its last update, as one iteration; does nothing when there are
     * none. For the end of training, when minibatches do not come out even. Call it on the training thread, between iterations.
     */
    public void applyGathered(Model model) {
        Entry entry = find(model);
        if (entry != null && entry.work.pending() > 0 && SolverAccess.current(model) instanceof ControlledStep step) {
            step.apply();
        }
    }

    /** What the steps do, one sentence for each network that has something to tell. */
    public List<String> notes() {
        return entries.stream().flatMap(entry -> entry.work.notes().stream()).toList();
    }

    @Override
    public void epochBegins(Model model) {
        renew(model);
    }

    @Override
    public void iterationEnded(Model model) {
        renew(model);
    }

    /** Copies train as their network does. */
    @Override
    public void workerBegins(Model model) {
        Entry original = find(tracker.originalOf(model));
        if (original != null && find(model) == null) {
            attach(model, original.work.options(), original.guard == null ? null : original.guard.ofCopy());
        }
    }

    /** Puts our optimizer into a solver that was made anew. */
    private void renew(Model model) {
        Entry entry = find(model);
        if (entry != null && !(SolverAccess.current(model) instanceof ControlledStep)) {
            install(model, entry);
        }
    }

    private void install(Model model, Entry entry) {
        ConvexOptimizer optimizer = SolverAccess.currentOrNew(model);
        if (optimizer.getClass() == StochasticGradientDescent.class) {
            SolverAccess.replace(
                    model,
                    new ControlledStep((BaseOptimizer) optimizer, model, entry.work, entry.guarded, entry.arriving));
        } else if (entry.asksForMore()) {
            log.warn(
                    "{} is trained by {}, which stays: {} asks for another step than Deeplearning4j's own.",
                    tracker.track(model),
                    optimizer.getClass().getName(),
                    entry.options);
        }
    }

    private void restore(Model model, Entry entry) {
        if (SolverAccess.current(model) instanceof ControlledStep step) {
            SolverAccess.replace(model, step.restored());
        }
        entry.work.close(); // also where the network dropped its solver
        if (entry.guarded != null) {
            entry.guarded.close();
        }
        if (entry.work.pending() > 0) {
            log.warn(
                    "Gradients of {} of {}, gathered for an update that needs {}, are dropped. Call"
                            + " applyGathered() before closing to use them.",
                    Count.of(entry.work.pending(), "minibatch"),
                    tracker.track(model),
                    entry.options.accumulate());
        }
    }

    /** Gives back what belongs to a network that was collected. */
    private static boolean isOver(Entry entry) {
        boolean over = entry.model.refersTo(null);
        if (over) {
            entry.work.close();
        }
        return over;
    }

    private @Nullable Entry find(Model model) {
        for (Entry entry : entries) {
            if (entry.model.refersTo(model)) {
                return entry;
            }
        }
        return null;
    }

    /** One network. */
    private static final class Entry {
        private final WeakReference<Model> model;
        private final StepOptions options;
        private final @Nullable StepGuard guard;
        private final ArrivingMinibatch arriving;
        private final GradientWork work;
        private final @Nullable GuardedRun guarded;

        private Entry(
                Model model,
                StepOptions options,
                @Nullable StepGuard guard,
                ArrivingMinibatch arriving,
                GradientWork work) {
            this.model = new WeakReference<>(model);
            this.options = options;
            this.guard = guard;
            this.arriving = arriving;
            this.work = work;
            this.guarded = guard == null ? null : new GuardedRun(guard, work);
        }

        /** Whether it is to be another step than Deeplearning4j's own, and not only to hear of minibatches. */
        private boolean asksForMore() {
            return guard != null || !options.equals(StepOptions.PLAIN);
        }
    }
}
