// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * What one event costs the thread that causes it, by what listens. Detached arrays and arrays in a workspace apart; the
 * baseline takes the same numbers and does nothing.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class RecordingBenchmark {
    private static final int ARRAYS = 64;
    private static final MemorySpace HOST = MemorySpace.HOST;

    @Param({"NONE", "RING", "TRACE"})
    public String sink;

    private MemoryLedger ledger;
    private WorkspaceAccount account;
    private Path file;
    private TraceWriter writer;

    /** Opens the books and attaches the sink. */
    @Setup(Level.Iteration)
    public void open() throws IOException {
        ledger = new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.ACTIVATIONS);
        account = ledger.openAccount("WS", Thread.currentThread(), false);
        file = Files.createTempFile("bench", ".memopt");
        switch (sink) {
            case "NONE" -> {}
            case "RING" -> ledger.addSink(new EventRing());
            case "TRACE" -> {
                writer = new TraceWriter(file, ledger.owners(), ledger.workspaces());
                ledger.addSink(writer);
            }
            default -> throw new IllegalArgumentException("sink=" + sink);
        }
    }

    /** Says what reached the disk: a writer that drops does less work. */
    @TearDown(Level.Iteration)
    public void close() throws IOException {
        if (writer != null) {
            writer.close();
            System.out.printf(
                    "[%d events, %d lost, %.1f B/event] ",
                    writer.acceptedEvents(),
                    writer.lostEvents(),
                    (double) writer.writtenBytes() / Math.max(1, writer.acceptedEvents() - writer.lostEvents()));
            if (writer.state() != TraceWriter.State.CLOSED) {
                throw new IllegalStateException("recording ended as " + writer.state());
            }
        }
        Files.delete(file);
    }

    /** The loop alone. */
    @Benchmark
    @OperationsPerInvocation(2 * ARRAYS)
    public void baseline(Blackhole hole) {
        EventSink nothing = (code, time, thread, owner, workspace, address, bytes, extra) -> hole.consume(address);
        for (int i = 0; i < 2 * ARRAYS; i++) {
            nothing.accept(0, 0, 0, 0, 0, i, 64, 64);
        }
    }

    /** Each operation is one allocation or one free. */
    @Benchmark
    @OperationsPerInvocation(2 * ARRAYS)
    public void detached() {
        for (int i = 1; i <= ARRAYS; i++) {
            ledger.allocated(HOST, i, 0x7f00_0000_0000L + i * 4096L, 1000 + i, 1024 + i);
        }
        for (int i = 1; i <= ARRAYS; i++) {
            ledger.freed(i);
        }
    }

    /** Each operation is one array; a release of all of them is shared out among them. */
    @Benchmark
    @OperationsPerInvocation(ARRAYS)
    public void workspaceArrays() {
        for (int i = 1; i <= ARRAYS; i++) {
            ledger.arrayAllocated(account, HOST, 0x7f00_0000_0000L + i * 4096L, 1000 + i, 1024 + i);
        }
        ledger.arraysReleased(account, HOST);
    }
}
