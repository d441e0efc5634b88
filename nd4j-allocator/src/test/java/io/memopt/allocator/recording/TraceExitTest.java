// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.WorkspaceTable;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Traces of JVMs that end without closing the writer. */
@Timeout(60)
class TraceExitTest {
    @TempDir
    Path directory;

    @Test
    void trace_ofJvmThatExits_isComplete() throws Exception {
        Path file = directory.resolve("exit.memopt");
        Process child = start(file, "exit");

        assertThat(child.waitFor(50, TimeUnit.SECONDS)).isTrue();

        try (TraceReader reader = new TraceReader(file)) {
            TraceSummary summary = reader.read(new Events.Collector());
            assertThat(summary.events()).isEqualTo(Child.FLUSHED + Child.TAIL);
            assertThat(summary.isComplete()).isTrue();
        }
    }

    @Test
    void trace_ofKilledJvm_holdsEverythingFlushed() throws Exception {
        Path file = directory.resolve("killed.memopt");
        Process child = start(file, "wait");
        try (BufferedReader out = child.inputReader()) {
            assertThat(out.readLine()).isEqualTo("flushed");
        }

        child.destroyForcibly();
        assertThat(child.waitFor(50, TimeUnit.SECONDS)).isTrue();

        try (TraceReader reader = new TraceReader(file)) {
            List<MemoryEvent> read = new ArrayList<>();
            reader.forEach(read::add);
            assertThat(read).hasSizeGreaterThanOrEqualTo(Child.FLUSHED);
            for (int i = 0; i < read.size(); i++) {
                assertThat(((MemoryEvent.Iteration) read.get(i)).iteration()).isEqualTo(i);
            }
            assertThat(reader.summary().ending()).isEqualTo(TraceSummary.Ending.OPEN);
            assertThat(reader.owner(read.get(0).owner()).layer()).isEqualTo("child");
            assertThat(reader.threadName(1)).hasValue("main");
        }
    }

    private static Process start(Path file, String end) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx128m",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        Child.class.getName(),
                        file.toString(),
                        end)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    /** Records, flushes, records some more, and never closes. */
    static final class Child {
        static final int FLUSHED = 50_000;
        static final int TAIL = 77;

        private Child() {}

        public static void main(String[] args) throws Exception {
            OwnerTable owners = new OwnerTable();
            int owner = owners.idOf(new Owner("", "child", Phase.FORWARD, Category.OTHER, ""));
            TraceOptions options = TraceOptions.DEFAULTS
                    .withFlushInterval(Duration.ofMinutes(10))
                    .withQueueBlocks(64);
            TraceWriter writer = new TraceWriter(Path.of(args[0]), owners, new WorkspaceTable(), options);
            send(writer, owner, 0, FLUSHED);
            if (!writer.flush(Duration.ofSeconds(30))) {
                throw new IllegalStateException("not flushed");
            }
            send(writer, owner, FLUSHED, FLUSHED + TAIL);
            System.out.println("flushed");
            if (args[1].equals("wait")) {
                new CountDownLatch(1).await();
            }
        }

        private static void send(TraceWriter writer, int owner, int from, int to) {
            int code = EventCode.of(EventKind.ITERATION);
            for (int i = from; i < to; i++) {
                writer.accept(code, System.nanoTime(), Thread.currentThread().getId(), owner, 0, 0, i, 0);
            }
        }
    }
}
