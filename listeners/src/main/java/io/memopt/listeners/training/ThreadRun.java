// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.training;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TrainingObserver;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.ThreadContext;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;

/**
 * What one thread does, told from the order in which Deeplearning4j opens and closes its workspaces.
 *
 * <pre>
 * training    ALL_ACT[ (WORKING)* one per layer                      forward
 *                      (LAYER_ACT WORKING)* one per layer            backward
 *                      (WORKING)* one per output ]                   score
 *             ALL_ACT[ ]* one per updater block                      update
 * output()    MultiLayerNetwork: (WORKING[ LAYER_ACT )* per layer    inference
 *             ComputationGraph:  (LAYER_ACT WORKING)* per vertex     inference
 * evaluate()  the same inside OUTPUT_MEM                             evaluation
 * feedForward (WORKING)* one per layer, results detached             inference
 * </pre>
 *
 * <p>Listener callbacks only confirm this; without them (someone removed the listener) phases are still right. Known
 * limits: a partial {@code feedForwardToLayer} with detached results shifts layer names until the next full pass, and
 * without workspaces only listener callbacks remain, so layers cannot be told.
 *
 * <p>Threading: confined to its thread.
 */
final class ThreadRun {
    private enum Mode {
        IDLE,
        FORWARD,
        BACKWARD,
        SCORE,
        UPDATE,
        INFERENCE,
        EXTERNAL
    }

    private static final String ALL_ACT = "WS_ALL_LAYERS_ACT";
    private static final String LAYER_ACT = "WS_LAYER_ACT_";
    private static final String WORKING = "WS_LAYER_WORKING_MEM";
    private static final String OUTPUT = "WS_OUTPUT_MEM";

    private final MemoryLedger ledger;
    private final List<TrainingObserver> observers;
    private final List<String> openActivations = new ArrayList<>();
    private @Nullable TrackedNetwork network;
    private @Nullable WorkspaceConfiguration lastConfiguration;
    private Mode mode = Mode.IDLE;
    private int visit = -1;
    private boolean allOpen;
    private boolean outputOpen;
    private boolean workingOpen;
    private boolean gradientScopeOpened;
    private boolean passBegins;
    private boolean passUsesActivations;
    private boolean pretraining;
    private boolean iterationGoesOn;
    private boolean updatesInWorkingMemory;
    private Phase phase = Phase.NONE;
    private long phaseStart = System.nanoTime();
    private long iterationStart;

    ThreadRun(MemoryLedger ledger, List<TrainingObserver> observers) {
        this.ledger = ledger;
        this.observers = observers;
    }

    /** Whether a workspace of this name says anything of layers and phases. */
    static boolean isTelling(String workspace) {
        return workspace.equals(WORKING)
                || workspace.equals(ALL_ACT)
                || workspace.equals(OUTPUT)
                || workspace.startsWith(LAYER_ACT);
    }

    @Nullable
    TrackedNetwork network() {
        return network;
    }

    /** Remembers which configuration a workspace was asked for with; the scope that is entered next may be it. */
    void configurationUsed(WorkspaceConfiguration configuration) {
        lastConfiguration = configuration;
    }

    @Nullable
    WorkspaceConfiguration takeConfiguration() {
        WorkspaceConfiguration last = lastConfiguration;
        lastConfiguration = null;
        return last;
    }

    /** The thread turned out to work for another network, or for none that is observed. */
    void switchTo(@Nullable TrackedNetwork other) {
        if (other == network) {
            return;
        }
        endPhase();
        network = other;
        apply();
    }

    /** Whether working memory serves the updater for now, so that its scope is no visit of a layer. */
    void updatesInWorkingMemory(boolean value) {
        updatesInWorkingMemory = value;
    }

    void scopeEntered(String workspace) {
        if (workspace.equals(WORKING)) {
            if (updatesInWorkingMemory) {
                return;
            }
            workingEntered();
            workingOpen = true;
        } else if (workspace.startsWith(LAYER_ACT)) {
            activationsEntered(workspace);
        } else if (workspace.equals(ALL_ACT)) {
            allOpen = true;
            allActivationsEntered();
        } else if (workspace.equals(OUTPUT)) {
            outputOpen = true;
            enter(Mode.INFERENCE, -1);
        }
    }

    void scopeClosed(String workspace) {
        if (workspace.equals(WORKING)) {
            if (updatesInWorkingMemory) {
                return;
            }
            workingOpen = false;
            leaveInferenceIfDone();
        } else if (workspace.startsWith(LAYER_ACT)) {
            openActivations.remove(workspace);
            leaveInferenceIfDone();
        } else if (workspace.equals(ALL_ACT)) {
            allOpen = false;
            if (mode == Mode.BACKWARD || mode == Mode.SCORE) {
                enter(Mode.UPDATE, -1);
            } else if (mode == Mode.FORWARD) {
                enter(Mode.IDLE, -1);
            }
        } else if (workspace.equals(OUTPUT)) {
            outputOpen = false;
            enter(Mode.IDLE, -1);
        }
    }

    /** Activations exist, the backward pass begins. */
    void forwardPassed(TrackedNetwork of) {
        switchTo(of);
        of.classifyInputs();
        if (mode != Mode.BACKWARD) {
            gradientScopeOpened = false;
            enter(Mode.BACKWARD, -1);
        }
    }

    /** The pass goes on, or the first or another one of an iteration begins, with the {@code next} visit of {@code as}. */
    void goesOn(TrackedNetwork of, Phase as, int next) {
        switchTo(of);
        gradientScopeOpened = false;
        if (iterationStart == 0) {
            iterationStart = System.nanoTime();
        }
        iterationGoesOn = !allOpen;
        enter(as == Phase.FORWARD ? Mode.FORWARD : Mode.BACKWARD, next - 1);
    }

    /** Gradients exist, the update begins. */
    void backwardPassed(TrackedNetwork of) {
        switchTo(of);
        enter(Mode.UPDATE, -1);
    }

    /** A pass is over that is no iteration; the next iteration does not begin before now, unless this was amid one. */
    void extraPass(TrackedNetwork of, ExtraPass kind) {
        if (kind != ExtraPass.VERIFIED) {
            iterationStart = of.withoutWorkspaces() ? System.nanoTime() : 0;
        }
        for (TrainingObserver observer : observers) {
            observer.extraPass(of.name(), kind);
        }
    }

    /** Training of one iteration is over, or a pass of a copy that is only tried. */
    void iterationEnded(TrackedNetwork of, long iteration, long epoch) {
        switchTo(of);
        long now = System.nanoTime();
        long nanos = iterationStart == 0 ? 0 : now - iterationStart;
        if (!of.isTrial()) {
            ledger.iterationEnded(of.ownerOf(Phase.UPDATE), iteration, epoch);
            ThreadContext.current().iteration(ledger.owners(), iteration + 1);
        }
        // Without workspaces nothing announces the next forward pass, so it begins now.
        enter(of.withoutWorkspaces() ? Mode.FORWARD : Mode.IDLE, -1);
        iterationStart = of.withoutWorkspaces() ? now : 0;
        if (of.isTrial()) {
            extraPass(of, ExtraPass.TRIED);
        } else {
            for (TrainingObserver observer : observers) {
                observer.iterationEnded(of.name(), iteration, epoch, nanos);
            }
        }
        of.classifyAfterIteration();
    }

    /** An epoch begins or ends: without workspaces the best sign of when forward passes may happen. */
    void epoch(TrackedNetwork of, boolean begins) {
        switchTo(of);
        if (of.withoutWorkspaces()) {
            iterationStart = begins ? System.nanoTime() : 0;
            enter(begins ? Mode.FORWARD : Mode.IDLE, -1);
        }
    }

    /** A layer reported training of its own: this is unsupervised pre-training. */
    void layerTrained() {
        pretraining = true;
        apply();
    }

    private void allActivationsEntered() {
        pretraining = false;
        if (mode == Mode.UPDATE) {
            return;
        }
        if (!iterationGoesOn) {
            iterationStart = System.nanoTime();
        }
        iterationGoesOn = false;
        enter(Mode.FORWARD, -1);
    }

    private void workingEntered() {
        if (!allOpen) {
            inferenceVisit();
        } else if (mode == Mode.UPDATE) {
            // Not an updater block after all: nobody told us that the iteration had ended.
            iterationStart = System.nanoTime();
            enter(Mode.FORWARD, 0);
        } else if (mode == Mode.FORWARD) {
            enter(Mode.FORWARD, visit + 1);
        } else if (gradientScopeOpened) {
            gradientScopeOpened = false;
        } else {
            enter(Mode.SCORE, mode == Mode.SCORE ? visit + 1 : 0);
        }
    }

    private void activationsEntered(String workspace) {
        if (allOpen) {
            gradientScopeOpened = true;
            enter(Mode.BACKWARD, mode == Mode.BACKWARD ? visit + 1 : 0);
            return;
        }
        boolean first = openActivations.isEmpty();
        if (!openActivations.contains(workspace)) {
            openActivations.add(workspace);
        }
        passUsesActivations = true;
        if (first && isGraph()) {
            passBegins = true;
        } else if (first && workingOpen) {
            enter(Mode.INFERENCE, 0);
        } else if (!workingOpen && !isGraph()) {
            // In a MultiLayerNetwork only the backward pass opens these outside working memory: external errors.
            gradientScopeOpened = true;
            enter(Mode.EXTERNAL, mode == Mode.EXTERNAL ? visit + 1 : 0);
        }
    }

    private void inferenceVisit() {
        if (mode == Mode.EXTERNAL && gradientScopeOpened) {
            gradientScopeOpened = false;
            return;
        }
        boolean detached = openActivations.isEmpty() && !passBegins;
        boolean goesOn =
                detached ? !passUsesActivations && mode == Mode.INFERENCE && visit + 1 < visits() : !passBegins;
        if (detached && !goesOn) {
            passUsesActivations = false;
        }
        passBegins = false;
        enter(Mode.INFERENCE, goesOn ? visit + 1 : 0);
    }

    /** A pass with results in workspaces is over when the last of them is closed. */
    private void leaveInferenceIfDone() {
        boolean inside = workingOpen || !openActivations.isEmpty() || allOpen;
        boolean detachedPass = !passUsesActivations && visit + 1 < visits();
        boolean done = mode == Mode.INFERENCE ? !detachedPass : mode == Mode.EXTERNAL;
        if (!inside && done) {
            enter(outputOpen ? Mode.INFERENCE : Mode.IDLE, -1);
        }
    }

    private int visits() {
        return network == null ? 0 : network.layout().inference().size();
    }

    private boolean isGraph() {
        return network != null && network.layout().graph();
    }

    private void enter(Mode newMode, int newVisit) {
        mode = newMode;
        visit = newVisit;
        apply();
    }

    /** Tells the ledger for whom the thread works now, and observers when the phase changed. */
    private void apply() {
        TrackedNetwork of = network;
        Phase now = of == null ? Phase.NONE : phaseOf(mode);
        if (now != phase) {
            endPhase();
            phase = now;
        }
        ledger.contextChanged(of == null || now == Phase.NONE ? OwnerTable.UNKNOWN : of.ownerOf(now, visit));
    }

    private void endPhase() {
        long now = System.nanoTime();
        TrackedNetwork of = network;
        if (of != null && phase != Phase.NONE) {
            for (TrainingObserver observer : observers) {
                if (of.isTrial()) {
                    observer.trialPhaseEnded(of.name(), phase, now - phaseStart);
                } else {
                    observer.phaseEnded(of.name(), phase, now - phaseStart);
                }
            }
        }
        phaseStart = now;
    }

    private Phase phaseOf(Mode of) {
        return switch (of) {
            case IDLE -> Phase.NONE;
            case FORWARD -> Phase.FORWARD;
            case BACKWARD -> Phase.BACKWARD;
            case SCORE -> Phase.SCORE;
            case UPDATE -> Phase.UPDATE;
            case EXTERNAL -> Phase.OTHER;
            case INFERENCE -> pretraining ? Phase.OTHER : outputOpen ? Phase.EVALUATION : Phase.INFERENCE;
        };
    }
}
