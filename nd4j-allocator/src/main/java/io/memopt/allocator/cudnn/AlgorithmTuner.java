// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Finds the ways to do a pass. Measuring runs each of them on the arrays at hand, which are overwritten as by the pass itself:
 * once to warm up, then {@value #RUNS} times (once, when that took a millisecond) back to back between two waits for the device. A way
 * that took more than {@value #HOPELESS} times the best one is not run again. Beside a short one a first run may be that long because the driver
 * loads its code, some milliseconds; where the way needs less scratch memory than the best one, the second run decides. Stateless.
 */
final class AlgorithmTuner {
    private static final int RUNS = 3;
    private static final int HOPELESS = 3;
    /** One run of so long a pass is as good as some. */
    private static final long LONG_NANOS = 1_000_000;
    /** What the driver takes to load code, at most. */
    private static final long LOADING_NANOS = 20_000_000;
    /** Beside longer passes loading code is not what makes a first run hopeless. */
    private static final long SHORT_NANOS = 300_000;
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

    /** The least scratch memory that the library says some way takes; {@link Long#MAX_VALUE} when it has none. Runs nothing. */
    long leastBytes(ConvolutionCalls calls) {
        long least = Long.MAX_VALUE;
        for (ConvolutionMath math : maths()) {
            for (int id : calls.candidates(math)) {
                least = allowed(calls, id) ? Math.min(least, leastBytes(calls, id, math)) : least;
            }
        }
        return least;
    }

    private long leastBytes(ConvolutionCalls calls, int id, ConvolutionMath math) {
        long least = Long.MAX_VALUE;
        for (int parts = 1; divides(parts, calls.shape()); parts *= 2) {
            long bytes = calls.scratchBytes(id, math, calls.shape().batch() / parts);
            if (bytes < 0) {
                break;
            }
            least = Math.min(least, bytes);
        }
        return least;
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
        long before = 0;
        for (int parts = 1; divides(parts, calls.shape()); parts *= 2) {
            long bytes = calls.scratchBytes(id, math, calls.shape().batch() / parts);
            if (bytes < 0 || isBeaten(bytes, before, found)) {
                return;
            }
            if (bytes <= limit) {
                before = time(calls, new ConvolutionAlgorithm(id, math, parts, bytes, 0), best(found));
                if (before < 0) {
                    return;
                }
                found.add(new ConvolutionAlgorithm(id, math, parts, bytes, before));
                if (bytes < SMALL_BYTES || isHopeless(before, best(found))) {
                    return;
                }
            }
        }
    }

    /** Whether some way needs no more than {@code bytes} and is so much faster than half as many parts that more will not make up for it. */
    private static boolean isBeaten(long bytes, long nanos, List<ConvolutionAlgorithm> found) {
        return found.stream().anyMatch(way -> way.scratchBytes() <= bytes && way.nanos() < nanos * 3 / 4);
    }

    private boolean divides(int parts, ConvolutionShape shape) {
        return parts <= options.maxParts() && shape.batch() % parts == 0;
    }

    private static @Nullable ConvolutionAlgorithm best(List<ConvolutionAlgorithm> found) {
        return found.stream()
                .min(Comparator.comparingLong(ConvolutionAlgorithm::nanos))
                .orElse(null);
    }

    private static boolean isHopeless(long nanos, @Nullable ConvolutionAlgorithm best) {
        return best != null && nanos / HOPELESS > best.nanos();
    }

    /** Nanoseconds of one run, -1 when it cannot be run. */
    private long time(ConvolutionCalls calls, ConvolutionAlgorithm way, @Nullable ConvolutionAlgorithm best) {
        calls.await();
        long once = timeRuns(calls, way, 1);
        if (isHopeless(once, best) && mayBeLoading(once, way, best)) {
            once = timeRuns(calls, way, 1);
        }
        return once < 0 || isHopeless(once, best) ? once : timeRuns(calls, way, once < LONG_NANOS ? RUNS : 1);
    }

    private static boolean mayBeLoading(long nanos, ConvolutionAlgorithm way, @Nullable ConvolutionAlgorithm best) {
        return best != null
                && best.nanos() < SHORT_NANOS
                && nanos < LOADING_NANOS
                && way.scratchBytes() < best.scratchBytes();
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
