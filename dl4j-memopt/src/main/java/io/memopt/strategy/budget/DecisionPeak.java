// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.TrainingObserver;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Most bytes that a decision takes, without those that others hold from before it, and without scalars of earlier passes: those wait for
 * the Java collector, so that how many there are depends on the machine. Looked at after each pass.
 *
 * <p>Threading: confined to the thread that decides; passes of other threads are not looked at.
 */
final class DecisionPeak implements TrainingObserver {
    private final MemoryLedger ledger;
    private final PeakWindow window;
    private final MemorySpace space;
    private final long others;
    private final Thread thread = Thread.currentThread();
    private final long begunNanos = System.nanoTime();
    /** That earlier passes have left; some of them may have been collected since. */
    private long scalars;

    private long peak;

    /**
     * Begins now.
     *
     * @param window just opened, and read by nobody else meanwhile
     * @param others bytes that others hold in {@code space}
     */
    DecisionPeak(MemoryLedger ledger, PeakWindow window, MemorySpace space, long others) {
        this.ledger = ledger;
        this.window = window;
        this.space = space;
        this.others = others;
    }

    @Override
    public void extraPass(String network, ExtraPass kind) {
        if (Thread.currentThread() == thread) {
            look();
        }
    }

    /** Most until now. */
    long bytes() {
        look();
        return peak;
    }

    /** Cost: O(live allocations) if more is held than ever before, else none that matters beside a pass. */
    private void look() {
        long held = window.take().reservedBytes(space) - others;
        if (held > peak) {
            peak = Math.max(peak, held - scalars);
            scalars = scalarBytes();
        }
    }

    private long scalarBytes() {
        AtomicLong bytes = new AtomicLong();
        ledger.forEachLive((key, allocation) -> {
            boolean ours = allocation.timeNanos() - begunNanos >= 0;
            if (ours && allocation.space() == space && ActualPeak.isScalar(allocation)) {
                bytes.addAndGet(allocation.roundedBytes());
            }
        });
        return bytes.get();
    }
}
