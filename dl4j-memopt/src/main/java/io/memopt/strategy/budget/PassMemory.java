// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Recording;
import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.allocator.reuse.PlannedArray;
import io.memopt.allocator.use.UseBook;
import io.memopt.allocator.use.UseWindow;
import io.memopt.fit.RecordedPasses;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.NetworkScratch;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.IntConsumer;
import java.util.function.ToLongFunction;

/**
 * What a pass takes in workspaces and in arrays outside them, at any batch and for each kind of reuse, from passes with two and with
 * three examples: every array's size is a straight line over the batch. Threading: confined.
 */
final class PassMemory {
    /** A batch of one takes other ways through some layers. */
    static final int LOW = 2;

    static final int HIGH = 3;

    private static final Duration PLANNING = Duration.ofMillis(200);

    private final RecordedPasses passes;
    /** Of the two passes, by their examples. */
    private final Map<Integer, ArenaPlan> plans;
    /** Of a pass with {@link #HIGH} examples. */
    private final List<ScratchCall> calls;

    private final Map<Integer, Optional<ArenaPlan>> byBatch = new HashMap<>();

    private PassMemory(RecordedPasses passes, Map<Integer, ArenaPlan> plans, List<ScratchCall> calls) {
        this.passes = passes;
        this.plans = plans;
        this.calls = List.copyOf(calls);
    }

    /**
     * Records two passes, which nothing but ND4J may serve, and the first again if it made what later ones do not.
     *
     * @param scratch of the network's convolutions, if they take any, under a limit of 0
     * @param pass computes so many examples of the minibatch
     * @return empty when the two passes ask for other arrays
     */
    static Optional<PassMemory> record(Recording recording, Optional<NetworkScratch> scratch, IntConsumer pass) {
        Map<Integer, ArenaPlan> plans = new HashMap<>();
        List<ScratchCall> calls = new ArrayList<>();
        UseBook book = MemoryHooks.borrowUses();
        recording.reversedInputs().begin(); // as in training
        try {
            return RecordedPasses.record(recording, LOW, HIGH, batch -> {
                        UseWindow window = book.openWindow();
                        scratch.ifPresent(its -> its.listener((shape, which) -> {
                            if (batch == HIGH) {
                                calls.add(new ScratchCall(window.next(), shape, which));
                            }
                        }));
                        pass.accept(batch);
                        plans.put(batch, plan(window));
                    })
                    .map(passes -> new PassMemory(passes, Map.copyOf(plans), withLeast(calls, scratch)));
        } finally {
            recording.reversedInputs().end();
            scratch.ifPresent(its -> its.listener(null));
            MemoryHooks.returnUses(book);
        }
    }

    private static List<ScratchCall> withLeast(List<ScratchCall> calls, Optional<NetworkScratch> scratch) {
        return scratch.map(
                        its -> calls.stream().map(call -> call.withLeast(its)).toList())
                .orElse(calls);
    }

    private static ArenaPlan plan(UseWindow window) {
        List<PlannedArray> arrays = window.close().stream()
                .filter(array -> NetworkWorkspaces.serves(array.workspace()))
                .map(array -> PlannedArray.of(array, false))
                .toList();
        return ArenaPlan.of(
                arrays, PlanOptions.greedy()); // What counts are its arrays: plans for other batches follow from them.
    }

    /** Bytes at {@code batch}, with planned workspaces or with ND4J's own; empty when there is no plan for that batch. */
    OptionalLong bytes(Reuse reuse, int batch) {
        RecordedPasses.Need need = passes.at(batch);
        if (reuse != Reuse.PLANNED) {
            return OptionalLong.of(need.peakBytes());
        }
        Optional<ArenaPlan> plan = plan(batch);
        return plan.isEmpty()
                ? OptionalLong.empty()
                : OptionalLong.of(plan.get().height() + need.detachedBytes());
    }

    /** Passes of convolutions that may take scratch memory, in their order. */
    List<ScratchCall> scratchCalls() {
        return calls;
    }

    /** Bytes of scratch memory that the pass cannot do without, wherever they lie. */
    long leastScratchBytes(int batch) {
        return calls.stream().mapToLong(call -> call.leastBytes(batch)).max().orElse(0);
    }

    /**
     * Most bytes of scratch memory that do not lie in an arena.
     *
     * @param need of each pass of a convolution
     */
    long scratchBeside(Reuse reuse, int batch, ToLongFunction<ScratchCall> need) {
        Optional<ArenaPlan> arena = reuse == Reuse.PLANNED ? plan(batch) : Optional.empty();
        return calls.stream()
                .filter(call -> arena.isEmpty() || !arena.get().lends(call.birth(), need.applyAsLong(call)))
                .mapToLong(need)
                .max()
                .orElse(0);
    }

    private Optional<ArenaPlan> plan(int batch) {
        return byBatch.computeIfAbsent(
                batch,
                its -> known(LOW)
                        .extrapolate(
                                LOW,
                                known(HIGH),
                                HIGH,
                                its,
                                WorkspaceReuse::roundedBytes,
                                PlanOptions.within(PLANNING)));
    }

    private ArenaPlan known(int batch) {
        return Objects.requireNonNull(plans.get(batch), "both passes were recorded");
    }
}
