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
 * The recorder's share of CPU time, by sampling with async-profiler: samples without safepoint bias, by CPU time of each
 * thread. Unlike a difference of two step times it does not depend on where the blocks of two runs happen to lie in
 * memory, which moves the step of a convolution by several percent. What it does not see is what the recorder costs
 * others: their cache lines and the garbage collector's time.
 */
final class RecorderShare {
    private static final String OURS = "io/memopt/";
    /** What it asks ND4J is its own cost. */
    private static final String ASKS = ".dataAddress";

    private static final List<String> DELEGATES = List.of("org/nd4j/", "org/deeplearning4j/");
    private static final List<String> HARNESS = List.of("io/memopt/StepCost", "io/memopt/testing/");
    private static final int TOP = 8;

    private final long all;
    private final long ours;
    private final Map<String, Long> methods;

    private RecorderShare(long all, long ours, Map<String, Long> methods) {
        this.all = all;
        this.ours = ours;
        this.methods = methods;
    }

    /** Samples every thread of the JVM while {@code work} runs on the main one, which counts. */
    static RecorderShare during(Runnable work) throws IOException {
        long all = 0;
        long ours = 0;
        Map<String, Long> methods = new HashMap<>();
        for (MainThreadStacks.Stack stack : MainThreadStacks.during(work)) {
            List<String> frames = stack.frames();
            all += stack.samples();
            int deepest = deepestOfOurs(frames);
            if (deepest >= 0 && !delegates(frames, deepest)) {
                ours += stack.samples();
                methods.merge(frames.get(deepest), stack.samples(), Long::sum);
            }
        }
        return new RecorderShare(all, ours, methods);
    }

    private static int deepestOfOurs(List<String> frames) {
        for (int i = frames.size() - 1; i >= 0; i--) {
            String frame = frames.get(i);
            if (frame.startsWith(OURS) && HARNESS.stream().noneMatch(frame::startsWith)) {
                return i;
            }
        }
        return -1;
    }

    private static boolean delegates(List<String> frames, int from) {
        if (frames.get(from).contains(ASKS)) {
            return false;
        }
        for (int i = from + 1; i < frames.size(); i++) {
            if (DELEGATES.stream().anyMatch(frames.get(i)::startsWith)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String toString() {
        String top = methods.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .limit(TOP)
                .map(e -> String.format(Locale.ROOT, "%n    %6.3f %%  %s", 100.0 * e.getValue() / all, e.getKey()))
                .collect(Collectors.joining());
        return String.format(
                Locale.ROOT, "recorder's own code: %.3f %% of %,d samples%s", 100.0 * ours / all, all, top);
    }
}
