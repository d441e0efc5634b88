// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A guard's share of the training thread's CPU time while nothing fails, sampled as {@link RecorderShare} does: what it remembers and
 * copies at each iteration, with ND4J's operations that copy, native code included. The iteration that it guards does not count.
 */
final class GuardShare {
    /** Callers of all that a guard does; what runs inside of the iteration's own code is below others. */
    private static final List<String> WORK = List.of(
            "io/memopt/strategy/step/GuardedRun.snapshot",
            "io/memopt/strategy/step/GuardedRun.updateBegins",
            "io/memopt/strategy/step/GuardedRun.updated",
            "io/memopt/strategy/step/GradientWork.mark",
            "io/memopt/guard/MemoryGuard.");

    private final long all;
    private final Map<String, Long> samples;

    private GuardShare(long all, Map<String, Long> samples) {
        this.all = all;
        this.samples = samples;
    }

    /** Samples while {@code work} runs on the main thread. */
    static GuardShare during(Runnable work) throws IOException {
        long all = 0;
        Map<String, Long> samples = new HashMap<>();
        for (MainThreadStacks.Stack stack : MainThreadStacks.during(work)) {
            all += stack.samples();
            for (String frame : stack.frames()) {
                if (WORK.stream().anyMatch(frame::startsWith)) {
                    samples.merge(frame, stack.samples(), Long::sum);
                    break;
                }
            }
        }
        return new GuardShare(all, samples);
    }

    @Override
    public String toString() {
        long guard = samples.values().stream().mapToLong(Long::longValue).sum();
        String parts = samples.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .map(e -> String.format(Locale.ROOT, "%n    %6.3f %%  %s", 100.0 * e.getValue() / all, e.getKey()))
                .collect(Collectors.joining());
        return String.format(
                Locale.ROOT, "guard, copies included: %.3f %% of %,d samples%s", 100.0 * guard / all, all, parts);
    }
}
