// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import java.io.IOException;
import java.util.List;
import one.profiler.AsyncProfiler;

/** What async-profiler sees the main thread do. */
final class MainThreadStacks {
    private MainThreadStacks() {}

    /** Samples with the same stack; frames are root first. */
    record Stack(List<String> frames, long samples) {}

    /** Stacks while {@code work} runs. */
    static List<Stack> during(Runnable work) throws IOException {
        AsyncProfiler profiler = AsyncProfiler.getInstance();
        profiler.execute("start,event=ctimer,interval=1ms,threads");
        work.run();
        return profiler.execute("stop,collapsed,threads")
                .lines()
                .filter(line -> line.startsWith("[main"))
                .map(MainThreadStacks::stack)
                .toList();
    }

    /** Reads {@code frame;frame;frame count}. */
    private static Stack stack(String line) {
        int end = line.lastIndexOf(' ');
        return new Stack(List.of(line.substring(0, end).split(";", -1)), Long.parseLong(line.substring(end + 1)));
    }
}
