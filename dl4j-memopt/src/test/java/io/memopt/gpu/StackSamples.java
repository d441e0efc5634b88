// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import one.profiler.AsyncProfiler;

/**
 * Where the CPU time of the calling thread goes, by stacks sampled with async-profiler every half millisecond of CPU time. A thread
 * that waits for a device turns on the spot, so that waiting is seen too, in the native frames at the top of a stack.
 */
final class StackSamples {
    private static final String SETTINGS = "start,event=ctimer,interval=500us,threads,simple";
    /** What lies below is the same in all stacks. */
    private static final String ROOT = "Networks.fit";

    private StackSamples() {}

    /**
     * Samples while {@code work} runs and writes one stack a line, root first: {@code frame;frame;frame samples}. Frames from the
     * thread's start to the training step are left out.
     *
     * @throws IOException if the profiler cannot be loaded or the file not written
     */
    static void write(Path file, Runnable work) throws IOException {
        AsyncProfiler profiler = AsyncProfiler.getInstance();
        String thread = "[" + Thread.currentThread().getName();
        profiler.execute(SETTINGS);
        String collapsed;
        try {
            work.run();
        } finally {
            collapsed = profiler.execute("stop,collapsed,threads,simple");
        }
        Files.write(file, stacks(collapsed, thread));
    }

    private static List<String> stacks(String collapsed, String thread) {
        Map<String, Long> samples = new TreeMap<>();
        for (String line : collapsed.lines().toList()) {
            int root = line.indexOf(ROOT);
            int end = line.lastIndexOf(' ');
            if (line.startsWith(thread) && root >= 0) {
                samples.merge(line.substring(root, end), Long.parseLong(line.substring(end + 1)), Long::sum);
            }
        }
        return samples.entrySet().stream()
                .map(stack -> stack.getKey() + " " + stack.getValue())
                .collect(Collectors.toList());
    }
}
