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
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches what is held at the ends of iterations, and how far that is from the nearest limit: one of this library, a cap of JavaCPP,
 * a container's, or what the system can still hand out. Warns when, at the slope of the last {@value #KEPT} looks (Theil-Sen,
 * so that single ones do not count), the limit is less than {@value #WARN_ITERATIONS} iterations away. JavaCPP asks for a
 * Java collection when its cap is met, so that what waits for one is no reason to warn: of that cap it is told when growth outlives
 * a collection.
 *
 * <p>Cost: one look at what is held at the end of an iteration, at most 40 times a second. The slope is computed at most twice a
 * second, in the background, as are limits, which with growth are read from files; what they say is told at the end of the first
 * iteration that knows. Threading: safe.
 */
public final class HeadroomWatch implements ModelObserver {
    static final int KEPT = 32;
    static final int WARN_ITERATIONS = 200;
    private static final long LOOK_NANOS = 25_000_000;
    private static final long SLOPE_NANOS = 500_000_000;

    private static final Logger log = LoggerFactory.getLogger(HeadroomWatch.class);

    private final MemoryLedger ledger;
    private final List<Consumer<EarlyWarning>> listeners = new CopyOnWriteArrayList<>();
    private final LongSupplier clock;
    private final Executor background;
    private final long[] held = new long[KEPT];
    /** The iterations after which that was held. */
    private final long[] after = new long[KEPT];

    private int seen;
    private long iterations;
    private long nextLookNanos;
    private long nextSlopeNanos;
    private long collections;
    /** What was held after the last collection, and after the one before it; -1 before there was one. */
    private long heldAfterCollection = -1;

    private long heldAfterCollectionBefore = -1;
    private @Nullable MemoryLimits limits;
    private boolean warned;
    private final AtomicReference<@Nullable Finding> found = new AtomicReference<>();
    private volatile double iterationsLeft = Double.POSITIVE_INFINITY;

    public HeadroomWatch(MemoryLedger ledger) {
        this(ledger, null, System::nanoTime, ForkJoinPool.commonPool());
    }

    /** {@code limits}: null for those of this process; {@code clock} in nanoseconds; {@code background} runs what reads files. */
    HeadroomWatch(MemoryLedger ledger, @Nullable MemoryLimits limits, LongSupplier clock, Executor background) {
        this.ledger = ledger;
        this.limits = limits;
        this.clock = clock;
        this.background = background;
        this.nextLookNanos = clock.getAsLong();
        this.nextSlopeNanos = nextLookNanos;
    }

    /** {@code listener} hears of warnings, on the training thread; once for each stretch of growth. */
    public void addListener(Consumer<EarlyWarning> listener) {
        listeners.add(listener);
    }

    /** Bytes to the nearest limit now; reads the system's files. */
    public long headroomBytes() {
        return Nearest.of(limits(), true).bytes();
    }

    /** Iterations until the nearest limit at the slope of late; infinite without growth. */
    public double iterationsLeft() {
        return iterationsLeft;
    }

    @Override
    public synchronized void iterationEnded(Model model) {
        iterations++;
        long now = clock.getAsLong();
        if (now - nextLookNanos >= 0) {
            nextLookNanos = now + LOOK_NANOS;
            look(now);
        }
        Finding finding = found.getAndSet(null);
        if (finding != null) {
            judge(finding);
        }
    }

    private void look(long now) {
        long bytes = ledger.reservedBytes();
        held[seen % KEPT] = bytes;
        after[seen++ % KEPT] = iterations;
        noteCollection(bytes);
        if (seen >= KEPT && now - nextSlopeNanos >= 0) {
            nextSlopeNanos = now + SLOPE_NANOS;
            boolean collected = outlivesCollections();
            History history = history();
            MemoryLimits known = limits();
            background.execute(() -> found.set(Finding.of(history, known, collected)));
        }
    }

    private void noteCollection(long bytes) {
        long count = ledger.collections();
        if (count != collections) {
            collections = count;
            heldAfterCollectionBefore = heldAfterCollection;
            heldAfterCollection = bytes;
        }
    }

    /** How what is held went. */
    public synchronized Evidence.Trend trend() {
        return history().trend();
    }

    private void judge(Finding finding) {
        Evidence.Trend trend = finding.trend();
        Nearest nearest = finding.nearest();
        if (nearest == null) {
            iterationsLeft = Double.POSITIVE_INFINITY;
            warned = false;
            return;
        }
        iterationsLeft = nearest.bytes() / trend.bytesPerIteration();
        if (iterationsLeft >= WARN_ITERATIONS) {
            warned = false;
        } else if (!warned) {
            warned = true;
            tell(new EarlyWarning(nearest.bytes(), nearest.limit(), trend.bytesPerIteration(), iterationsLeft));
        }
    }

    private boolean outlivesCollections() {
        return heldAfterCollectionBefore >= 0 && heldAfterCollection > heldAfterCollectionBefore;
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

    private History history() {
        int known = Math.min(seen, KEPT);
        long[] at = new long[known];
        long[] values = new long[known];
        for (int i = 0; i < known; i++) {
            int from = (seen - known + i) % KEPT;
            at[i] = after[from];
            values[i] = held[from];
        }
        return new History(at, values);
    }

    /** What was held after which iterations, oldest first. */
    private static final class History {
        private final long[] at;
        private final long[] values;

        History(long[] at, long[] values) {
            this.at = at;
            this.values = values;
        }

        Evidence.Trend trend() {
            int last = at.length - 1;
            return last < 1
                    ? Evidence.Trend.NONE
                    : new Evidence.Trend(
                            (int) (at[last] - at[0]) + 1, TheilSen.slope(at, values), values[last] - values[0]);
        }
    }

    /** {@code nearest}: null without growth. */
    private record Finding(Evidence.Trend trend, @Nullable Nearest nearest) {

        static Finding of(History history, MemoryLimits limits, boolean collected) {
            Evidence.Trend trend = history.trend();
            return new Finding(trend, trend.bytesPerIteration() < 1 ? null : Nearest.of(limits, collected));
        }
    }

    /** The limit that is met first, and how far it is. */
    private record Nearest(long bytes, String limit) {

        /** {@code collected}: whether JavaCPP's cap counts, although a collection comes before it. */
        static Nearest of(MemoryLimits limits, boolean collected) {
            Nearest nearest = new Nearest(Long.MAX_VALUE, "none");
            AllocationLimit limit = MemoryHooks.currentLimit().orElse(null);
            if (limit != null && limit.limitBytes() != AllocationLimit.NONE) {
                nearest = new Nearest(limit.limitBytes() - limit.liveBytes(), "limitBytes");
            }
            OptionalLong resident = ProcessMemory.residentNow();
            if (collected) {
                nearest = nearest.or(left(limits.javacppMaxPhysicalBytes(), resident), "JavaCPP's physical cap");
            }
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
