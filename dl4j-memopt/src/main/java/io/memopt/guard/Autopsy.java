// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.FailureMoment;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.fit.LargestBatch;
import io.memopt.fit.MemoryForecast;
import io.memopt.fit.PoolPrediction;
import io.memopt.fit.Recorded;
import io.memopt.oom.Cause;
import io.memopt.oom.Diagnosis;
import io.memopt.oom.Evidence;
import io.memopt.oom.Exhaustion;
import io.memopt.oom.MemoryState;
import io.memopt.oom.PostMortem;
import io.memopt.oom.Remedy;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.TrainingSteps;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.IntToLongFunction;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out why memory ran out and what would help. Runs a copy of the network with a few examples to say how many fit, which
 * itself takes memory; without it that line is missing. Threading: the thread that failed.
 */
public final class Autopsy {
    private static final Logger log = LoggerFactory.getLogger(Autopsy.class);
    private static final int LARGEST_BATCH = 1 << 20;
    /** Of ND4J, for an array outside workspaces. */
    private static final int TRIES = 5;
    /** Five tries take half a second, with a garbage collection each. */
    private static final long UNWINDING_NANOS = 2_000_000_000L;

    private final MemoryLedger ledger;
    private final Strategies strategies;
    private final HeadroomWatch growth;

    public Autopsy(MemoryLedger ledger, Strategies strategies, HeadroomWatch growth) {
        this.ledger = ledger;
        this.strategies = strategies;
        this.growth = growth;
    }

    /**
     * What the calling thread was refused first since {@code sinceNanos}: later requests are made while scopes are left. Arrays outside
     * workspaces are asked for {@value #TRIES} times; those that were had in the end do not count.
     */
    static Optional<FailureMoment> momentOf(MemoryLedger ledger, long sinceNanos) {
        long thread = Thread.currentThread().getId();
        List<FailureMoment> its = ledger.failures().stream()
                .filter(failure -> failure.threadId() == thread && failure.timeNanos() - sinceNanos >= 0)
                .toList();
        for (int from = 0; from < its.size(); ) {
            FailureMoment first = its.get(from);
            int to = from + 1;
            while (to < its.size() && to - from < TRIES && isAgain(first, its.get(to))) {
                to++;
            }
            boolean given = first.kind() == AllocationKind.DETACHED && to - from < TRIES;
            if (!given) {
                return Optional.of(first);
            }
            from = to;
        }
        return its.isEmpty() ? Optional.empty() : Optional.of(its.get(its.size() - 1));
    }

    private static boolean isAgain(FailureMoment first, FailureMoment next) {
        return first.kind() == AllocationKind.DETACHED
                && next.kind() == AllocationKind.DETACHED
                && first.requestedBytes() == next.requestedBytes()
                && first.owner().equals(next.owner());
    }

    /** Why {@code failure} happened, on the calling thread. */
    public PostMortem of(Throwable failure, Optional<Model> model) {
        return of(failure, model, latest());
    }

    /** Nobody knows when what failed had begun; the refusals of one failure come within seconds. */
    private Optional<FailureMoment> latest() {
        long thread = Thread.currentThread().getId();
        return ledger.failures().stream()
                .filter(failure -> failure.threadId() == thread)
                .reduce((one, other) -> other)
                .flatMap(last -> momentOf(ledger, last.timeNanos() - UNWINDING_NANOS));
    }

    PostMortem of(Throwable failure, Optional<Model> model, Optional<FailureMoment> moment) {
        MemoryState state = strategies.state();
        SystemMemory system = SystemMemory.now();
        OptionalLong limit = MemoryHooks.currentLimit()
                .map(AllocationLimit::limitBytes)
                .filter(bytes -> bytes != AllocationLimit.NONE)
                .map(OptionalLong::of)
                .orElseGet(OptionalLong::empty);
        Evidence evidence = new Evidence(
                Exhaustion.of(failure),
                moment,
                limit,
                system.total(),
                system.available(),
                state.residentBytes(),
                growth.trend());
        Diagnosis diagnosis = Diagnosis.of(evidence);
        OptionalInt batch = model.map(HeldData::examples)
                .filter(rows -> rows > 0)
                .map(OptionalInt::of)
                .orElseGet(OptionalInt::empty);
        List<Remedy> remedies = new ArrayList<>();
        OptionalInt largest = model.isPresent() && moment.isPresent()
                ? largest(model.get(), moment.get(), remedies)
                : OptionalInt.empty();
        addRemedies(remedies, diagnosis, moment, limit);
        return new PostMortem(
                failure.toString(),
                evidence.kind(),
                diagnosis,
                moment,
                phase(moment),
                batch,
                largest,
                state,
                evidence.growth(),
                remedies);
    }

    private static String phase(Optional<FailureMoment> moment) {
        Phase phase = moment.map(its -> its.owner().phase()).orElse(Phase.NONE);
        return switch (phase) {
            case INFERENCE, EVALUATION -> "forward (" + phase.name().toLowerCase(Locale.ROOT) + ")";
            default -> phase.name().toLowerCase(Locale.ROOT);
        };
    }

    private OptionalInt largest(Model model, FailureMoment moment, List<Remedy> remedies) {
        try {
            return fitting(model, moment, remedies);
        } catch (RuntimeException | OutOfMemoryError e) {
            log.debug("Nobody can say what would fit", e);
            return OptionalInt.empty();
        }
    }

    private OptionalInt fitting(Model model, FailureMoment moment, List<Remedy> remedies) {
        int batch = HeldData.examples(model);
        if (batch == 0) {
            return OptionalInt.empty();
        }
        MemoryForecast forecast = forecast(model);
        boolean training =
                moment.owner().phase() != Phase.INFERENCE && moment.owner().phase() != Phase.EVALUATION;
        long room = Capacity.after(moment).bytes();
        IntToLongFunction peak = training
                ? size -> forecast.at(size).peakBytes()
                : size -> forecast.inference(1, size)
                        .map(PoolPrediction::peakBytes)
                        .orElse(Long.MAX_VALUE);
        int fits = training
                ? forecast.largestBatch(room)
                : LargestBatch.of(LARGEST_BATCH, size -> peak.applyAsLong(size) <= room);
        if (fits > 0 && fits < batch) {
            remedies.add(new Remedy(
                    "Use batches of " + fits + " instead of " + batch,
                    "the largest that is predicted to fit " + ByteSize.format(room),
                    OptionalLong.of(peak.applyAsLong(fits)),
                    "NONE"));
            if (training && mayBeSplit(model, fits)) {
                remedies.add(
                        0,
                        new Remedy(
                                "MemOptConfig.builder().microBatch(" + fits + ")",
                                "the same minibatch in parts of at most " + fits + ", one update",
                                OptionalLong.of(peak.applyAsLong(fits)
                                        + model.numParams()
                                                * model.params().dataType().width()),
                                "REORDERED"));
            }
        }
        return OptionalInt.of(fits);
    }

    /** With labels as the outputs have them where the network holds none. */
    private static MemoryForecast forecast(Model model) {
        Optional<MultiDataSet> held = HeldData.of(model);
        if (held.isPresent()) {
            return Recorded.forecast(model, held.get());
        }
        return model instanceof MultiLayerNetwork network
                ? Recorded.forecast(model, network.getInput())
                : Recorded.forecast(model, ((ComputationGraph) model).getInputs());
    }

    private static boolean mayBeSplit(Model model, int examples) {
        try {
            TrainingSteps.check(model, new StepOptions(examples, 1, 1));
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private void addRemedies(
            List<Remedy> remedies, Diagnosis diagnosis, Optional<FailureMoment> moment, OptionalLong limit) {
        long asked = moment.map(FailureMoment::requestedBytes).orElse(0L);
        if (diagnosis.cause() == Cause.GROWTH) {
            remedies.add(
                    0,
                    new Remedy(
                            "close() the arrays that are held from one iteration to the next",
                            "they grew by " + ByteSize.scaled(growth.trend().grownBytes())
                                    + "; the holders above name who made them",
                            OptionalLong.empty(),
                            "NONE"));
        }
        if (limit.isPresent() && moment.isPresent()) {
            long needed = moment.get().reservedBytes() + asked;
            remedies.add(new Remedy(
                    "Raise limitBytes to at least " + needed,
                    "this request would be met; later ones may need more",
                    OptionalLong.empty(),
                    "NONE"));
        }
        if (!strategies.isPlanned()) {
            Remedy planned = new Remedy(
                    "MemOptConfig.builder().reuse(Reuse.PLANNED)",
                    "workspaces share one arena; rehearse() tells its size before training begins",
                    OptionalLong.empty(),
                    "BITWISE");
            remedies.add(diagnosis.cause() == Cause.FRAGMENTATION ? 0 : remedies.size(), planned);
        }
        if (diagnosis.cause() == Cause.OTHER_PROCESS) {
            remedies.add(
                    0,
                    new Remedy("End other processes that hold memory", diagnosis.why(), OptionalLong.empty(), "NONE"));
        }
    }
}
