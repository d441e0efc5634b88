// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * What one block costs, allocated and freed on the same stream, while other blocks are live and free around it. The
 * simulated device is never called: the pool is warm.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class PoolBenchmark {
    private static final int NEIGHBOURS = 500;
    private static final long STREAM = 7;

    @Param({"512", "65536", "1048576", "67108864"})
    public long bytes;

    private MemoryPool pool;
    private long expectedCalls;

    /** Leaves every other one of the blocks around free. */
    @Setup(Level.Iteration)
    public void warm() {
        SimulatedDevice device = new SimulatedDevice(64L << 30, 2 << 20, true);
        pool = new MemoryPool(device, device, PoolOptions.UNLIMITED);
        long[] around = new long[NEIGHBOURS];
        for (int i = 0; i < NEIGHBOURS; i++) {
            around[i] = pool.allocate((1 + i % 37) * 100_000L, STREAM);
        }
        for (int i = 0; i < NEIGHBOURS; i += 2) {
            pool.free(around[i], STREAM);
        }
        pool.free(pool.allocate(bytes, STREAM), STREAM);
        expectedCalls = device.calls().total();
    }

    /** The loop alone. */
    @Benchmark
    public void baseline(Blackhole hole) {
        hole.consume(bytes);
    }

    /** One allocation and one free. */
    @Benchmark
    public long allocateAndFree() {
        long address = pool.allocate(bytes, STREAM);
        pool.free(address, STREAM);
        return address;
    }

    /** A pool that called the driver did other work than was to be measured. */
    @TearDown(Level.Iteration)
    public void check() {
        long calls = pool.statistics().calls().total();
        if (calls != expectedCalls) {
            throw new IllegalStateException("driver calls=" + calls + ", expected " + expectedCalls);
        }
    }
}
