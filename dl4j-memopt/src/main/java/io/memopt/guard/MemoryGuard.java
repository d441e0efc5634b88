// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.FailureMoment;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.oom.Exhaustion;
import io.memopt.oom.PostMortem;
import io.memopt.strategy.step.FailedStep;
import io.memopt.strategy.step.StepGuard;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.StepStage;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Guards the iterations of one network: a post-mortem for each that runs out of memory, and, if asked, ways to do it again. A way
 * that worked stays for later iterations. After {@value #MOST_ATTEMPTS} attempts the original failure goes on, with the path of the
 * post-mortem as a suppressed exception.
 *
 * <p>Threading: the training thread; {@link #recoveries()} and {@link #note()} from any.
 */
public final class MemoryGuard implements StepGuard {
    static final int MOST_ATTEMPTS = 6;
    private static final long COLLECTION_MILLIS = 300;
    private static final Logger log = LoggerFactory.getLogger(MemoryGuard.class);

    private final OutOfMemory mode;
    private final MemoryLedger ledger;
    private final Strategies strategies;
    private final Autopsy autopsy;
    private final ReportFiles files;
    private final PassForecast forecast = new PassForecast();
    private @Nullable Fixes fixes;
    private @Nullable Fix tried;
    private @Nullable FailureMoment latest;
    private Optional<Path> report = Optional.empty();
    private final AtomicInteger recoveries = new AtomicInteger();
    private volatile String settled = "";

    /**
     * @param autopsy says why
     * @param files takes what it says
     */
    public MemoryGuard(
            OutOfMemory mode, MemoryLedger ledger, Strategies strategies, Autopsy autopsy, ReportFiles files) {
        this.mode = mode;
        this.ledger = ledger;
        this.strategies = strategies;
        this.autopsy = autopsy;
        this.files = files;
    }

    @Override
    public StepGuard ofCopy() {
        return new MemoryGuard(mode, ledger, strategies, autopsy, files);
    }

    /** Iterations that ran out of memory and were done all the same. */
    public int recoveries() {
        return recoveries.get();
    }

    /** One sentence on what happened; empty when nothing did. */
    public String note() {
        int many = recoveries.get();
        return many == 0
                ? ""
                : Count.of(many, "iteration") + " ran out of memory and were done again, the last time by " + settled
                        + ".";
    }

    @Override
    public boolean isExhaustion(Throwable failure) {
        return Exhaustion.of(failure) != Exhaustion.NONE;
    }

    @Override
    public Optional<StepOptions> failed(FailedStep step) {
        Optional<FailureMoment> moment = Autopsy.momentOf(ledger, step.beganNanos());
        if (step.attempt() == 1) {
            fixes = null;
            tried = null;
            report(step, moment);
        }
        latest = moment.orElse(latest);
        FailureMoment refused = latest;
        if (!mode.recovers() || refused == null || step.attempt() >= MOST_ATTEMPTS) {
            return giveUp(step);
        }
        collect();
        Fixes ways = fixes;
        if (ways == null) {
            ways = new Fixes(mode, strategies, forecast, ledger, step, refused);
            fixes = ways;
        } else {
            ways.failedAgain(refused);
        }
        Optional<Fix> fix = nextOf(ways, refused);
        if (fix.isEmpty()) {
            return giveUp(step);
        }
        tried = fix.get();
        log.warn(
                "{} ran out of memory ({} asked for, {} held) and is done again: {}{}. {}",
                step.stage() == StepStage.UPDATE ? "An update" : "An iteration",
                ByteSize.format(refused.requestedBytes()),
                ByteSize.scaled(refused.reservedBytes()),
                fix.get().name(),
                fix.get().peakBytes().isPresent()
                        ? ", predicted peak "
                                + ByteSize.format(fix.get().peakBytes().getAsLong())
                        : "",
                report.map(path -> "Post-mortem: " + path).orElse(""));
        return Optional.of(fix.get().options());
    }

    /** Looking for a way needs memory too. */
    private static Optional<Fix> nextOf(Fixes ways, FailureMoment refused) {
        try {
            return ways.next(refused);
        } catch (RuntimeException | OutOfMemoryError e) {
            log.warn("No way was found to do the iteration again: {}", e.toString());
            return Optional.empty();
        }
    }

    @Override
    public void failedAfterUpdate(FailedStep step) {
        report(step, Autopsy.momentOf(ledger, step.beganNanos()));
        giveUp(step);
    }

    @Override
    public void succeeded(Model model, int attempts) {
        Fix fix = tried;
        if (attempts > 1 && fix != null) {
            recoveries.incrementAndGet();
            settled = fix.name();
            tried = null;
            fixes = null;
        }
    }

    private void report(FailedStep step, Optional<FailureMoment> moment) {
        PostMortem dead = autopsy.of(step.failure(), Optional.of(step.model()), moment);
        report = files.write(dead);
    }

    private Optional<StepOptions> giveUp(FailedStep step) {
        report.ifPresent(path -> step.failure().addSuppressed(new PostMortemWritten(path)));
        return Optional.empty();
    }

    /** Arrays of the pass that failed are dead, but the collector has to find that out, and threads of ND4J to free them. */
    private void collect() {
        System.gc();
        long until = System.nanoTime() + COLLECTION_MILLIS * 1_000_000;
        long before = -1;
        while (System.nanoTime() < until && before != ledger.reservedBytes()) {
            before = ledger.reservedBytes();
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }
}
