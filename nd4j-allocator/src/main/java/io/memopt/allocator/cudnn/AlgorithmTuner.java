// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Finds the ways to do a pass. Measuring runs each of them on the arrays at hand, which are overwritten as by the pass itself:
 * once to warm up, then {@value #RUNS} times (once, when that took a millisecond) back to back between two waits for the device. A way that took more than
 * {@value #HOPELESS} times the best one when warming up is not run again. Stateless.
 */
final class AlgorithmTuner {
    private static final int RUNS = 3;
    private static final int HOPELESS = 3;
    /** One run of so long a pass is as good as some. */
    private static final long LONG_NANOS = 1_000_000;
    /** Below this, computing in parts saves nothing that matters. */
    private static final long SMALL_BYTES = 1 << 20;

    private final CudnnOptions options;
    private final LongSupplier clock;

    /** @param clock nanoseconds, as {@link System#nanoTime} */
    AlgorithmTuner(CudnnOptions options, LongSupplier clock) {
        this.options = options;
        this.clock = clock;
    }

    /** All ways within {@code limitBytes} of scratch memory. */
    AlgorithmTable search(ConvolutionCalls calls, long limitBytes) {
        List<ConvolutionAlgorithm> found = new ArrayList<>();
        if (options.measure()) {
            for (ConvolutionMath math : maths()) {
                for (int id : calls.candidates(math)) {
                    measure(calls, id, math, limitBytes, found);
                }
            }
        } else {
            rank(calls, limitBytes, found);
        }
        return new AlgorithmTable(limitBytes, options.measure(), found);
    }

    private List<ConvolutionMath> maths() {
        return options.tf32() ? List.of(ConvolutionMath.FMA, ConvolutionMath.TF32) : List.of(ConvolutionMath.FMA);
    }

    private boolean allowed(ConvolutionCalls calls, int id) {
        return !options.deterministic() || calls.repeats(id);
    }

    private void measure(
            ConvolutionCalls calls, int id, ConvolutionMath math, long limit, List<ConvolutionAlgorithm> found) {
        if (!allowed(calls, id)) {
            return;
        }
        for (int parts = 1; divides(parts, calls.shape()); parts *= 2) {
            long bytes = calls.scratchBytes(id, math, calls.shape().batch() / parts);
            if (bytes < 0) {
                return;
            }
            if (bytes <= limit) {
                long nanos = time(calls, new ConvolutionAlgorithm(id, math, parts, bytes, 0), best(found));
                if (nanos < 0) {
                    return;
                }
                found.add(new ConvolutionAlgorithm(id, math, parts, bytes, nanos));
                if (bytes < SMALL_BYTES || nanos / HOPELESS > best(found)) {
                    return;
                }
            }
        }
    }

    private boolean divides(int parts, ConvolutionShape shape) {
        return parts <= options.maxParts() && shape.batch() % parts == 0;
    }

    private static long best(List<ConvolutionAlgorithm> found) {
        return found.stream().mapToLong(ConvolutionAlgorithm::nanos).min().orElse(Long.MAX_VALUE);
    }

    /** Nanoseconds of one run, -1 when it cannot be run. */
    private long time(ConvolutionCalls calls, ConvolutionAlgorithm way, long best) {
        calls.await();
        long warm = timeRuns(calls, way, 1);
        return warm < 0 || warm / HOPELESS > best ? warm : timeRuns(calls, way, warm < LONG_NANOS ? RUNS : 1);
    }

    private long timeRuns(ConvolutionCalls calls, ConvolutionAlgorithm way, int runs) {
        long start = clock.getAsLong();
        for (int i = 0; i < runs; i++) {
            if (!calls.run(way)) {
                return -1;
            }
        }
        calls.await();
        return Math.max(0, clock.getAsLong() - start) / runs;
    }

    private void rank(ConvolutionCalls calls, long limit, List<ConvolutionAlgorithm> found) {
        for (int id : calls.ranking()) {
            for (ConvolutionMath math : maths()) {
                long bytes = allowed(calls, id)
                        ? calls.scratchBytes(id, math, calls.shape().batch())
                        : -1;
                if (bytes >= 0 && bytes <= limit) {
                    found.add(new ConvolutionAlgorithm(id, math, 1, bytes, found.size() + 1L));
                }
            }
        }
    }
}
