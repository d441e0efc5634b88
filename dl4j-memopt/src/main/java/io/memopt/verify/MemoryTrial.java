// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

/**
 * What is to be run, and how. Each {@code while…} method runs it, on the calling thread, and gives the figures.
 *
 * <p><b>What counts.</b> The network's flat arrays (parameters, gradients, updater state) and everything that any thread
 * takes from the operating system or driver from the first iteration on: workspace blocks, spills, detached arrays. What
 * others left behind before is not counted, and workspaces of the calling thread are destroyed first, so that figures do
 * not depend on which test ran before. What other threads take meanwhile does count: run memory tests alone.
 *
 * <p>Two full garbage collections are forced, after the warm-up and at the end, to tell what is held from what only waits
 * for the collector. The network trains to the same numbers as without.
 */
public final class MemoryTrial {
    private static final int DEFAULT_WARMUP = 3;

    private final Model model;
    private int warmup = DEFAULT_WARMUP;
    private boolean scopeCheck;
    private @Nullable Path trace;

    MemoryTrial(Model model) {
        this.model = model;
    }

    /**
     * Iterations that may take more memory than later ones, at least 1; 3 by default: the first fills workspaces and makes
     * the updater's state, the second finds them at their size. A ComputationGraph hands its workspaces to vertices in
     * changing order and needs more, e.g. 8 for a small residual graph.
     */
    public MemoryTrial withWarmup(int iterations) {
        if (iterations < 1) {
            throw new IllegalArgumentException("warmup=" + iterations + ", expected at least 1");
        }
        warmup = iterations;
        return this;
    }

    /**
     * Looks for arrays that are used after their workspace moved on, for {@link MemoryAssert#readsNoStaleArrays}. Slower: each
     * workspace array remembers where it was made. Single elements are checked on CPU only.
     */
    public MemoryTrial withScopeCheck() {
        scopeCheck = true;
        return this;
    }

    /** Keeps the recording in {@code file}, e.g. for {@code memopt-cli.jar report} when a test failed. */
    public MemoryTrial recordingTo(Path file) {
        trace = Objects.requireNonNull(file, "file");
        return this;
    }

    /**
     * Fits a batch in each iteration, on this thread and without prefetching; the iterator is reset at its end. What making
     * a batch takes counts in the peak, but is no allocation of an iteration.
     *
     * @param iterations how many, warm-up included; more than the warm-up
     * @throws IllegalArgumentException if there are too few, or the iterator is empty
     */
    public MemoryAssert whileFitting(DataSetIterator data, int iterations) {
        Objects.requireNonNull(data, "data");
        Deque<DataSet> next = new ArrayDeque<>();
        return run(() -> next.add(nextOf(data)), () -> Models.fit(model, next.remove()), iterations);
    }

    /** As {@link #whileFitting(DataSetIterator, int)} with the same batch each time. */
    public MemoryAssert whileFitting(DataSet data, int iterations) {
        Objects.requireNonNull(data, "data");
        return run(() -> {}, () -> Models.fit(model, data), iterations);
    }

    /** Runs {@code iteration}, e.g. {@code () -> net.output(x)}; all that it does counts. */
    public MemoryAssert whileRunning(Runnable iteration, int iterations) {
        Objects.requireNonNull(iteration, "iteration");
        return run(() -> {}, iteration, iterations);
    }

    private MemoryAssert run(Runnable prepare, Runnable step, int iterations) {
        if (iterations <= warmup) {
            throw new IllegalArgumentException(
                    "iterations=" + iterations + ", expected more than the warm-up of " + warmup);
        }
        return new MemoryAssert(new MemoryRun(model, warmup, iterations, scopeCheck).run(prepare, step, trace));
    }

    private static DataSet nextOf(DataSetIterator data) {
        if (!data.hasNext()) {
            data.reset();
        }
        if (!data.hasNext()) {
            throw new IllegalArgumentException("data=" + data + " has no batch, expected at least one");
        }
        return data.next();
    }
}
