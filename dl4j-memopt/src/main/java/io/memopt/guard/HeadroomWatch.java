// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.AvailableMemory;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.MemoryLimits;
import io.memopt.allocator.recording.ProcessMemory;
import io.memopt.analysis.TheilSen;
import io.memopt.listeners.training.ModelObserver;
import io.memopt.oom.Evidence;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches what is held at the ends of iterations, and how far that is from the nearest limit: one of this library, a cap of JavaCPP,
 * a container's, or what the system can still hand out. Warns when, at the slope of the last {@value #KEPT} iterations (Theil-Sen,
 * so that single iterations do not count), the limit is less than {@value #WARN_ITERATIONS} iterations away.
 *
 * <p>Cost: two reads at the end of an iteration; the slope, and with growth the limits, which are read from files, at most every
 * {@value #EVERY} iterations, and at most once a second unless that is less than a thousandth of the time. Threading: safe.
 */
public final class HeadroomWatch implements ModelObserver {
    static final int KEPT = 32;
    static final int EVERY = 8;
    static final int WARN_ITERATIONS = 200;
    /** A look that took a while is followed by so many times as long without one, but no more than a second. */
    private static final int REST = 1000;

    private static final long MOST_REST_NANOS = 1_000_000_000;

    private static final Logger log = LoggerFactory.getLogger(HeadroomWatch.class);

    private final MemoryLedger ledger;
    private final List<Consumer<EarlyWarning>> listeners = new CopyOnWriteArrayList<>();
    private final long[] held = new long[KEPT];
    private int seen;
    private long nextLookNanos = System.nanoTime();
    private @Nullable MemoryLimits limits;
    private boolean warned;
    private volatile double iterationsLeft = Double.POSITIVE_INFINITY;

    public HeadroomWatch(MemoryLedger ledger) {
        this.ledger = ledger;
    }

    /** {@code listener} hears of warnings, on the training thread; once for each stretch of growth. */
    public void addListener(Consumer<EarlyWarning> listener) {
        listeners.add(listener);
    }

    /** Bytes to the nearest limit now; reads the system's files. */
    public long headroomBytes() {
        return Nearest.of(limits()).bytes();
    }

    /** Iterations until the nearest limit at the slope of late; infinite without growth. */
    public double iterationsLeft() {
        return iterationsLeft;
    }

    @Override
    public synchronized void iterationEnded(Model model) {
        held[seen++ % KEPT] = ledger.reservedBytes();
        long now = System.nanoTime();
        if (seen % EVERY == 0 && now - nextLookNanos >= 0) {
            look();
            long end = System.nanoTime();
            nextLookNanos = end + Math.min(MOST_REST_NANOS, REST * (end - now));
        }
    }

    /** How what is held went. */
    public synchronized Evidence.Trend trend() {
        long[] values = values();
        if (values.length < 2) {
            return Evidence.Trend.NONE;
        }
        return new Evidence.Trend(values.length, TheilSen.of(values, 1).slope(), values[values.length - 1] - values[0]);
    }

    private void look() {
        Evidence.Trend trend = trend();
        if (trend.iterations() < KEPT || trend.bytesPerIteration() < 1) {
            iterationsLeft = Double.POSITIVE_INFINITY;
            warned = false;
            return;
        }
        Nearest nearest = Nearest.of(limits());
        iterationsLeft = nearest.bytes() / trend.bytesPerIteration();
        if (iterationsLeft >= WARN_ITERATIONS) {
            warned = false;
        } else if (!warned) {
            warned = true;
            tell(new EarlyWarning(nearest.bytes(), nearest.limit(), trend.bytesPerIteration(), iterationsLeft));
        }
    }

    /** Read once: hardly anyone changes them while a process runs. */
    private synchronized MemoryLimits limits() {
        MemoryLimits known = limits;
        if (known == null) {
            known = MemoryLimits.current();
            limits = known;
        }
        return known;
    }

    private void tell(EarlyWarning warning) {
        log.warn("{}", warning);
        for (Consumer<EarlyWarning> listener : listeners) {
            try {
                listener.accept(warning);
            } catch (RuntimeException e) {
                log.warn("A listener to early warnings failed", e);
            }
        }
    }

    private long[] values() {
        int known = Math.min(seen, KEPT);
        long[] values = new long[known];
        for (int i = 0; i < known; i++) {
            values[i] = held[(seen - known + i) % KEPT];
        }
        return values;
    }

    /** The limit that is met first, and how far it is. */
    private record Nearest(long bytes, String limit) {

        static Nearest of(MemoryLimits limits) {
            Nearest nearest = new Nearest(Long.MAX_VALUE, "none");
            AllocationLimit limit = MemoryHooks.currentLimit().orElse(null);
            if (limit != null && limit.limitBytes() != AllocationLimit.NONE) {
                nearest = new Nearest(limit.limitBytes() - limit.liveBytes(), "limitBytes");
            }
            OptionalLong resident = ProcessMemory.residentNow();
            nearest = nearest.or(left(limits.javacppMaxPhysicalBytes(), resident), "JavaCPP's physical cap");
            nearest = nearest.or(left(limits.containerBytes(), resident), "the container's limit");
            return nearest.or(AvailableMemory.bytes(), "the machine's memory");
        }

        private Nearest or(OptionalLong left, String name) {
            return left.isPresent() && left.getAsLong() < bytes ? new Nearest(left.getAsLong(), name) : this;
        }

        private static OptionalLong left(OptionalLong limit, OptionalLong resident) {
            return limit.isPresent() && resident.isPresent()
                    ? OptionalLong.of(limit.getAsLong() - resident.getAsLong())
                    : OptionalLong.empty();
        }
    }
}
