// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.nd4j.Recording;
import io.memopt.listeners.training.MemoryListener;
import io.memopt.listeners.training.TrainingTracker;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.MemoryWorkspaceManager;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Runs a few passes of a copy of a network with a tiny batch and writes down what they do to memory. Every trial has a thread
 * of its own, because workspaces belong to threads, and destroys these workspaces at its end.
 */
final class Trial {
    private static final int PASSES = 3;

    private final Model original;
    private final TrainingTracker tracker;

    Trial(Model original, TrainingTracker tracker) {
        this.original = original;
        this.tracker = tracker;
    }

    /**
     * What was seen.
     *
     * @param passes steps of known size
     * @param rules of the workspaces that were opened
     * @param base what the copy held outside of workspaces
     * @param outputs shapes of the outputs, empty unless the passes were calls of {@code output()}
     */
    record Seen(
            List<List<TrialRecorder.Noted>> passes,
            Map<String, WorkspaceRules> rules,
            NetworkBytes base,
            List<ItemShape> outputs) {}

    /** One pass; returns the shapes of its outputs if it has any. */
    private interface Pass<D> {
        List<ItemShape> run(TrialNetwork network, D data);
    }

    Seen train(BatchShape shape, int batch) {
        return inOwnThread(() -> shape.zeros(batch), (network, data) -> {
            network.fit(data);
            return List.of();
        });
    }

    /** As {@link #train} with workspaces, whatever the configuration says; without them layers are not told apart. */
    Seen trainInWorkspaces(BatchShape shape, int batch) {
        return inOwnThread(() -> shape.zeros(batch), (network, data) -> {
            network.useWorkspaces();
            network.fit(data);
            return List.of();
        });
    }

    Seen infer(BatchShape shape, int batch) {
        return inOwnThread(() -> shape.features(batch), TrialNetwork::output);
    }

    private <D> Seen inOwnThread(Supplier<D> data, Pass<D> pass) {
        FutureTask<Seen> task = new FutureTask<>(() -> run(data.get(), pass));
        Thread thread = new Thread(task, "memopt-fit");
        thread.setDaemon(true);
        thread.start();
        try {
            return task.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a trial of the network ran", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw new IllegalArgumentException(
                    "The network cannot be tried with this input: " + e.getCause()
                            + ". Check the input type, or give an example of the data.",
                    e.getCause());
        }
    }

    private <D> Seen run(D data, Pass<D> pass) {
        Recording recording = tracker.recording();
        try (TrialNetwork network = TrialNetwork.copyOf(original)) {
            tracker.trackTrial(network.model(), original);
            network.listen(new MemoryListener(tracker));
            TrialRecorder recorder = new TrialRecorder(recording.ledger());
            recording.ledger().addSink(recorder);
            recording.addObserver(recorder);
            try {
                List<ItemShape> outputs = List.of();
                for (int i = 0; i < PASSES; i++) {
                    outputs = pass.run(network, data);
                    recorder.endPass();
                }
                return new Seen(recorder.passes(), rules(), network.bytes(), outputs);
            } finally {
                recording.ledger().removeSink(recorder);
                recording.removeObserver(recorder);
                tracker.untrack(network.model());
            }
        } finally {
            destroyWorkspaces();
        }
    }

    /** Rules of the calling thread's workspaces. */
    static Map<String, WorkspaceRules> rules() {
        Map<String, WorkspaceRules> rules = new HashMap<>();
        for (MemoryWorkspace workspace : Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread()) {
            rules.put(workspace.getId(), WorkspaceRules.of(workspace.getWorkspaceConfiguration()));
        }
        return rules;
    }

    /** One by one, because destroying all of a thread's workspaces at once also forces a garbage collection. */
    private static void destroyWorkspaces() {
        MemoryWorkspaceManager manager = Nd4j.getWorkspaceManager();
        new ArrayList<>(manager.getAllWorkspacesForCurrentThread()).forEach(manager::destroyWorkspace);
    }
}
