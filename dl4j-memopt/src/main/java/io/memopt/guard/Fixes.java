// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.recording.FailureMoment;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.strategy.step.FailedStep;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.TrainingSteps;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ways to do one iteration again, in the order in which they are tried: as it was, planned, with fewer activations, in parts. What
 * is predicted not to fit is passed over. Workspaces of the iteration are given back when this is made. Threading: confined.
 */
final class Fixes {
    private static final Logger log = LoggerFactory.getLogger(Fixes.class);
    /** Parts beyond these are not worth a try. */
    private static final int MOST_PARTS = 1 << 10;

    private final OutOfMemory mode;
    private final Strategies strategies;
    private final PassForecast forecast;
    private final MemoryLedger ledger;
    private final FailedStep first;
    private final int examples;
    private final Optional<MultiDataSet> data;
    private Capacity capacity;
    private Stage next = Stage.AS_IT_WAS;
    private int parts;

    private enum Stage {
        AS_IT_WAS,
        PLANNED,
        CHECKPOINTED,
        IN_PARTS
    }

    Fixes(
            OutOfMemory mode,
            Strategies strategies,
            PassForecast forecast,
            MemoryLedger ledger,
            FailedStep first,
            FailureMoment moment) {
        this.mode = mode;
        this.strategies = strategies;
        this.forecast = forecast;
        this.ledger = ledger;
        this.first = first;
        this.examples = HeldData.examples(first.model());
        this.data = HeldData.of(first.model());
        this.capacity = Capacity.after(moment);
    }

    /** Another attempt failed. */
    void failedAgain(FailureMoment moment) {
        capacity = capacity.and(Capacity.after(moment));
    }

    /** The next way that may fit; empty when there is none. */
    Optional<Fix> next(FailureMoment moment) {
        Optional<Fix> fix = Optional.empty();
        while (fix.isEmpty() && !isOver()) {
            Stage stage = next;
            next = stage == Stage.IN_PARTS ? stage : Stage.values()[stage.ordinal() + 1];
            fix = switch (stage) {
                case AS_IT_WAS -> asItWas(moment);
                case PLANNED -> planned(moment);
                case CHECKPOINTED -> checkpointed();
                case IN_PARTS -> inParts(moment);
            };
        }
        return fix;
    }

    private boolean isOver() {
        return next == Stage.IN_PARTS && (mode != OutOfMemory.RECOVER || parts >= Math.min(MOST_PARTS, examples));
    }

    /** Others may have given memory back, and dead arrays have been collected. A request that nothing can meet is not made twice. */
    private Optional<Fix> asItWas(FailureMoment moment) {
        if (moment.requestedBytes() > SystemMemory.now().total().orElse(Long.MAX_VALUE)) {
            return Optional.empty();
        }
        OptionalLong peak = peak(examples, first.options());
        boolean tooMuch = capacity.exact() && peak.isPresent() && peak.getAsLong() > capacity.bytes();
        return tooMuch
                ? Optional.empty()
                : Optional.of(new Fix("the same again after cleaning up", first.options(), peak, "BITWISE"));
    }

    private Optional<Fix> planned(FailureMoment moment) {
        if (strategies.isPlanned() || data.isEmpty()) {
            return Optional.empty();
        }
        OptionalLong arena = strategies.plan(first.model(), data.get(), examples);
        long peak = ledger.reservedBytes(moment.space()) + arena.orElse(0);
        log.debug("Planned: arena {}, peak {} of {} B", arena, peak, capacity.bytes());
        return arena.isEmpty() || peak > capacity.bytes()
                ? Optional.empty()
                : Optional.of(new Fix("planned workspaces", first.options(), OptionalLong.of(peak), "BITWISE"));
    }

    private Optional<Fix> checkpointed() {
        StepOptions fewer = first.options().withoutCuts().withActivationShare(0);
        return first.options().activationShare() == 0 || !isPossible(fewer) || isAbsurd()
                ? Optional.empty()
                : Optional.of(new Fix("as few activations as possible", fewer, OptionalLong.empty(), "BITWISE"));
    }

    /** More than activations is at stake when one array exceeds everything. */
    private boolean isAbsurd() {
        return parts == 0 && peak(examples, first.options()).orElse(0) > 4 * capacity.bytes();
    }

    /** By the forecast at first; half as many examples each time when that was wrong, or there is none. */
    private Optional<Fix> inParts(FailureMoment moment) {
        int most = parts == 0 ? first.options().microBatch() : (examples + parts - 1) / parts;
        int before = Math.min(most, examples);
        OptionalInt fits = isForecast()
                ? forecast.largest(before - 1, capacity.room(ledger, moment) - gradientBytes(first.model()))
                : OptionalInt.empty();
        int micro = Math.max(1, parts == 0 && fits.isPresent() ? fits.getAsInt() : before / 2);
        StepOptions options = first.options().withMicroBatch(micro);
        boolean splits = before > 1 && isPossible(options);
        parts = splits ? (examples + micro - 1) / micro : MOST_PARTS;
        return splits
                ? Optional.of(new Fix("micro-batches of " + micro, options, peak(micro, options), "REORDERED"))
                : Optional.empty();
    }

    /** Forecasts are of the network's own precision. */
    private boolean isForecast() {
        return !first.options().mixes() && data.isPresent() && forecast.learn(first.model(), data.get());
    }

    private OptionalLong peak(int batch, StepOptions options) {
        if (!isForecast() || options.checkpoints() || strategies.isPlanned() || batch < 1) {
            return OptionalLong.empty();
        }
        long sums = options.microBatch() < examples ? gradientBytes(first.model()) : 0;
        long held = ledger.reservedBytes(MemorySpace.HOST) + ledger.reservedBytes(MemorySpace.DEVICE);
        return OptionalLong.of(held + sums + forecast.bytes(Math.min(batch, options.microBatch())));
    }

    private boolean isPossible(StepOptions options) {
        try {
            TrainingSteps.check(first.model(), options);
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static long gradientBytes(Model model) {
        return model.numParams() * model.params().dataType().width();
    }
}
