// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TrainingObserver;
import io.memopt.allocator.nd4j.Recording;
import io.memopt.allocator.nd4j.ScopeObserver;
import io.memopt.allocator.recording.MemoryLedger;
import java.lang.ref.Cleaner;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;

/**
 * Knows the observed networks of a recording and keeps, for each thread, what it does for which of them. One per
 * recording.
 *
 * <p>Threading: networks may be added and removed from any thread; runs are confined to theirs.
 */
public final class TrainingTracker implements ScopeObserver {
    private static final Cleaner CLEANER = Cleaner.create();
    private static final String WORKING = "WS_LAYER_WORKING_MEM";
    private static final String LAYER_ACT = "WS_LAYER_ACT_";

    private final Recording recording;
    private final CopyOnWriteArrayList<TrackedNetwork> networks = new CopyOnWriteArrayList<>();
    private final CopyOnWriteArrayList<TrainingObserver> observers = new CopyOnWriteArrayList<>();
    private final CopyOnWriteArrayList<ModelObserver> modelObservers = new CopyOnWriteArrayList<>();
    private final ThreadLocal<ThreadRun> runs;

    /** Begins to follow threads of {@code recording}. */
    public TrainingTracker(Recording recording) {
        this.recording = recording;
        this.runs = ThreadLocal.withInitial(() -> new ThreadRun(recording.ledger(), observers));
        recording.addObserver(this);
    }

    /** What is being recorded. */
    public Recording recording() {
        return recording;
    }

    /** Stops following threads; networks are forgotten. */
    public void close() {
        recording.removeObserver(this);
        List.copyOf(networks).forEach(this::forget);
    }

    /** {@code observer} hears of progress from now on. */
    public synchronized void addObserver(TrainingObserver observer) {
        if (observers.addIfAbsent(observer)) {
            networks().forEach(observer::networkAttached);
        }
    }

    public void removeObserver(TrainingObserver observer) {
        observers.remove(observer);
    }

    /** {@code observer} hears of the training of all observed networks. */
    public void addModelObserver(ModelObserver observer) {
        modelObservers.addIfAbsent(observer);
    }

    public void removeModelObserver(ModelObserver observer) {
        modelObservers.remove(observer);
    }

    /** The observed network for which the calling thread works, as far as its workspaces have shown; null if none. */
    public @Nullable Model currentModel() {
        TrackedNetwork network = networks.isEmpty() ? null : runs.get().network();
        return network == null ? null : network.model();
    }

    /**
     * Observes {@code model}; does nothing when it is observed already.
     *
     * @return the name of the network in figures: its type and the lowest number that is free
     * @throws IllegalArgumentException if it is not an initialised MultiLayerNetwork or ComputationGraph
     */
    public String track(Model model) {
        TrackedNetwork known = find(model);
        return known != null ? known.name() : add(model).name();
    }

    /**
     * Observes {@code copy} of {@code original} only for what its passes take: they are no iterations of training, and observers hear
     * of them as {@link ExtraPass#TRIED}.
     */
    public synchronized void trackTrial(Model copy, Model original) {
        TrackedNetwork known = find(original);
        String name = known == null ? original.getClass().getSimpleName() : known.name();
        add(new TrackedNetwork(Owner.trialOf(name), copy, copy, recording), copy);
    }

    /** Tells the ledger which arrays hold the parameters, gradients and updater state of {@code model} now, if it is observed. */
    public void classify(Model model) {
        TrackedNetwork known = find(model);
        if (known != null) {
            known.classifyFlatArrays();
        }
    }

    /** Forgets {@code model} and its copies; does nothing when it is not observed. */
    public void untrack(Model model) {
        copiesOf(model).forEach(this::untrack);
        TrackedNetwork known = find(model);
        if (known != null) {
            forget(known);
        }
    }

    /** The observed copies that a {@code ParallelWrapper} trains of {@code model}; itself is not among them. */
    public List<Model> copiesOf(Model model) {
        return networks.stream()
                .filter(network -> network.original() == model)
                .map(TrackedNetwork::model)
                .filter(copy -> copy != null && copy != model)
                .toList();
    }

    /** What {@code model} is a copy of; itself when it is none, or none that is known. */
    public Model originalOf(Model model) {
        TrackedNetwork known = find(model);
        Model original = known == null ? null : known.original();
        return original == null ? model : original;
    }

    /** Names of the networks that are observed now; copies that are only tried are not among them. */
    public List<String> networks() {
        return networks.stream()
                .filter(network -> !network.isTrial())
                .map(TrackedNetwork::name)
                .toList();
    }

    /** Whether nothing is observed, not even a copy. */
    public boolean isIdle() {
        return networks.isEmpty();
    }

    @Override
    public void configurationUsed(WorkspaceConfiguration configuration, String workspace) {
        if (!networks.isEmpty()) {
            runs.get().configurationUsed(configuration);
        }
    }

    @Override
    public boolean hears(String workspace) {
        return ThreadRun.isTelling(workspace);
    }

    @Override
    public void scopeEntered(String workspace) {
        if (networks.isEmpty()) {
            return;
        }
        ThreadRun run = runs.get();
        if (workspace.equals(WORKING) || workspace.startsWith(LAYER_ACT)) {
            recognise(run);
        }
        run.scopeEntered(workspace);
    }

    /** The scope being entered was just asked for with a configuration that one network alone uses. */
    private void recognise(ThreadRun run) {
        WorkspaceConfiguration configuration = run.takeConfiguration();
        TrackedNetwork current = run.network();
        boolean same = current != null && networks.contains(current) && current.uses(configuration);
        if (configuration != null && !same) {
            TrackedNetwork known = networkWith(configuration);
            run.switchTo(WrapperWorker.runsHere() ? workerBegins(known, configuration) : known);
        }
    }

    private @Nullable TrackedNetwork workerBegins(
            @Nullable TrackedNetwork known, WorkspaceConfiguration configuration) {
        TrackedNetwork network = known == null ? copyWith(configuration) : known;
        Model model = network == null ? null : network.model();
        if (model != null) {
            modelObservers.forEach(observer -> observer.workerBegins(model));
        }
        return network;
    }

    /** Observed like the network that it is a copy of, if that is. */
    private @Nullable TrackedNetwork copyWith(WorkspaceConfiguration configuration) {
        WrapperWorker.Copy copy = WrapperWorker.with(configuration);
        TrackedNetwork original = copy == null ? null : find(copy.original());
        return copy == null || original == null ? null : add(copy, original.name());
    }

    /** The copy of an earlier round that had the same place has ended. */
    private synchronized TrackedNetwork add(WrapperWorker.Copy copy, String original) {
        TrackedNetwork known = find(copy.model());
        if (known != null) {
            return known;
        }
        String name = original + " worker " + copy.worker();
        networks.stream().filter(other -> other.name().equals(name)).forEach(this::forget);
        return add(new TrackedNetwork(name, copy.model(), copy.original(), recording), copy.model());
    }

    @Override
    public void scopeClosed(String workspace) {
        if (!networks.isEmpty()) {
            runs.get().scopeClosed(workspace);
        }
    }

    /**
     * Tells what a pass does next that visits layers in another order than Deeplearning4j's own, or that is not the only one of
     * its iteration.
     *
     * @param phase {@link Phase#FORWARD} or {@link Phase#BACKWARD}
     * @param visit the visit of that phase that comes next, counted from 0 as Deeplearning4j makes them
     */
    public void goesOn(Model model, Phase phase, int visit) {
        TrackedNetwork network = observed(model);
        if (network != null) {
            runs.get().goesOn(network, phase, visit);
        }
    }

    /** Tells that {@code computing}, a copy of {@code model} with the same layers, computes its passes from now on. */
    public void computedBy(Model model, Model computing) {
        TrackedNetwork network = observed(model);
        if (network != null) {
            network.computedBy(computing);
        }
    }

    /** Tells that the updater of {@code model} works in the working memory of its layers until told otherwise, by the calling thread. */
    public void updatesInWorkingMemory(Model model, boolean value) {
        if (observed(model) != null) {
            runs.get().updatesInWorkingMemory(value);
        }
    }

    /** Tells that a pass of {@code model}, on the calling thread, was no iteration of training. */
    public void extraPass(Model model, ExtraPass kind) {
        TrackedNetwork network = observed(model);
        if (network != null) {
            runs.get().extraPass(network, kind);
        }
    }

    /** Tells that gradients of one of several passes of an iteration are known, as a listener would of a single one. */
    public void passEnded(Model model) {
        onGradients(model);
    }

    void onForwardPass(Model model) {
        TrackedNetwork network = observed(model);
        if (network != null) {
            runs.get().forwardPassed(network);
        }
    }

    void onBackwardPass(Model model) {
        TrackedNetwork network = observed(model);
        if (network != null) {
            runs.get().backwardPassed(network);
        }
    }

    void onGradients(Model model) {
        if (observed(model) != null) {
            modelObservers.forEach(observer -> observer.gradientsComputed(model));
        }
    }

    void onIteration(Model model, long iteration, long epoch) {
        TrackedNetwork network = observed(model);
        if (network != null) {
            runs.get().iterationEnded(network, iteration, epoch);
            if (!network.isTrial()) {
                modelObservers.forEach(observer -> observer.iterationEnded(model));
            }
        } else {
            runs.get().layerTrained();
        }
    }

    void onEpoch(Model model, boolean begins) {
        TrackedNetwork network = observed(model);
        if (network != null) {
            runs.get().epoch(network, begins);
            if (begins) {
                modelObservers.forEach(observer -> observer.epochBegins(model));
            }
        }
    }

    private @Nullable TrackedNetwork observed(Model model) {
        boolean network = model instanceof MultiLayerNetwork || model instanceof ComputationGraph;
        if (!network) {
            return null;
        }
        TrackedNetwork known = find(model);
        return known != null ? known : add(model);
    }

    private synchronized TrackedNetwork add(Model model) {
        TrackedNetwork known = find(model);
        if (known != null) {
            return known;
        }
        String name = freeName(model);
        disown(name);
        return add(new TrackedNetwork(name, model, model, recording), model);
    }

    /** What an earlier network of that {@code name} still holds is nobody's from now on, lest it be counted as the next one's. */
    private void disown(String name) {
        MemoryLedger ledger = recording.ledger();
        ledger.forEachLive((key, allocation) -> {
            Owner owner = ledger.owners().ownerOf(allocation.owner());
            if (allocation.account() == null && owner.network().equals(name)) {
                ledger.reclassify(key, "", owner.category());
            }
        });
    }

    private TrackedNetwork add(TrackedNetwork added, Model model) {
        networks.add(added);
        if (!added.isTrial()) {
            observers.forEach(observer -> observer.networkAttached(added.name()));
        }
        added.classifyFlatArrays();
        CLEANER.register(model, () -> forget(added));
        return added;
    }

    /** Names are given again, so that programs that make networks without end use a bounded number of them. */
    private String freeName(Model model) {
        List<String> taken = networks();
        String type = model.getClass().getSimpleName();
        int number = 1;
        while (taken.contains(type + "-" + number)) {
            number++;
        }
        return type + "-" + number;
    }

    private synchronized void forget(TrackedNetwork network) {
        if (networks.remove(network) && !network.isTrial()) {
            observers.forEach(observer -> observer.networkRemoved(network.name()));
        }
    }

    private @Nullable TrackedNetwork find(Model model) {
        for (TrackedNetwork network : networks) {
            if (network.model() == model) {
                return network;
            }
        }
        return null;
    }

    private @Nullable TrackedNetwork networkWith(WorkspaceConfiguration configuration) {
        for (TrackedNetwork network : networks) {
            if (network.uses(configuration)) {
                return network;
            }
        }
        return null;
    }
}
