// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Whether training in a planned arena would need less than in workspaces. The plan is made from the last uses in the trace;
 * without them the answer is that nobody knows yet. Host memory only, as the arenas are. Threading: confined.
 */
final class ReuseAdvice {
    /** Of smaller workspaces nothing is said that is not known. */
    private static final long WORTH_ASKING_BYTES = 1 << 20;

    private final FirstPass first;
    private final Map<Long, Long> heights = new HashMap<>();
    private final Scenario.@Nullable PlannedArenas scenario;
    private long neededBytes;

    ReuseAdvice(FirstPass first, LiveSet live) {
        this.first = first;
        boolean planned = first.workspaces.all().stream()
                .anyMatch(entry -> entry.info.name().equals(NetworkWorkspaces.ARENA));
        if (first.focus() == MemorySpace.HOST && first.iterations > 0 && !planned) {
            for (ArenaBook.Height arena : first.arenas.heights()) {
                heights.put(arena.thread(), arena.heightBytes());
                neededBytes += arena.loadBytes();
            }
        }
        scenario = heights.isEmpty()
                ? null
                : new Scenario.PlannedArenas(live, MemorySpace.HOST, heights, first.workspaces);
    }

    /** What is to be played; empty when there is nothing to plan. */
    Optional<Scenario> scenario() {
        return usesKnown() ? Optional.ofNullable(scenario) : Optional.empty();
    }

    Optional<Advice> advice(long peak, long end) {
        if (scenario == null) {
            return Optional.empty();
        }
        if (!usesKnown()) {
            return blocks() < WORTH_ASKING_BYTES ? Optional.empty() : Optional.of(unknown(peak));
        }
        return Adviser.saves(scenario, peak, end) ? Optional.of(known(scenario, peak, end)) : Optional.empty();
    }

    private Advice known(Scenario planned, long peak, long end) {
        long arenas = heights.values().stream().mapToLong(Long::longValue).sum();
        return new Advice(
                Advice.Kind.PLAN_ARRAYS,
                "Networks' workspaces hold " + ByteSize.format(blocks()) + "; their arrays need "
                        + ByteSize.scaled(neededBytes)
                        + " between birth and last use, and one planned arena for each thread takes "
                        + ByteSize.format(arenas) + ".",
                "MemOpt memopt = MemOpt.attach(net, MemOptConfig.builder().reuse(Reuse.PLANNED).build());"
                        + " memopt.rehearse(data); /* on the thread that trains; a batch of 3 examples or more */",
                MemorySpace.HOST,
                peak,
                planned.peakBytes(),
                end - planned.endBytes(),
                "the passes of the rehearsal, with up to three examples; of later passes unknown",
                Exactness.BITWISE,
                "Without rehearse(), e.g. with truncated backpropagation through time, which cannot rehearse, the first batch of"
                        + " each shape takes what it takes now. Less is saved where listeners read activations.",
                OptionalLong.empty());
    }

    private Advice unknown(long peak) {
        return new Advice(
                Advice.Kind.PLAN_ARRAYS,
                "Networks' workspaces hold " + ByteSize.format(blocks())
                        + ". What a planned arena would save of it is unknown: the trace does not tell when arrays were last"
                        + " used.",
                "Record once more with MemOptConfig.builder().trace(path).recordUses(true), a few iterations are enough.",
                MemorySpace.HOST,
                peak,
                peak,
                0,
                "unknown",
                Exactness.BITWISE,
                "The saving; what recording uses costs in time.",
                OptionalLong.empty());
    }

    private boolean usesKnown() {
        return first.arenas.arraysWithUse() > 0;
    }

    private long blocks() {
        return first.workspaces.all().stream()
                .filter(entry -> NetworkWorkspaces.serves(entry.info.name()))
                .mapToLong(WorkspaceBook.Entry::maxPrimaryBlock)
                .sum();
    }
}
