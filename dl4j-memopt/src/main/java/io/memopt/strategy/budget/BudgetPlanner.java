// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.analysis.Exactness;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.Untouched;
import io.memopt.strategy.cudnn.NetworkScratch;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.strategy.step.StepOptions;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Decides how a network is to train within a budget, from the minibatch that it holds, and puts that into effect:
 *
 * <ol>
 *   <li>Passes with two and three examples give what each way takes at any batch; nothing larger is tried.
 *   <li>Of the ways that fit, the one that should be fastest is begun, rehearsed, and one of its passes is timed. While another
 *       promises to be faster than what was measured, that one is tried, too, at most {@value #MAX_TIMED} of them.
 *   <li>The fastest stays. Of ways that differ by less than {@value #ALIKE_PERCENT} % the one that changes least is taken.
 * </ol>
 *
 * <p>Threading: the training thread.
 */
final class BudgetPlanner {
    static final int MAX_TIMED = 3;
    static final int ALIKE_PERCENT = 2;
    private static final double ALIKE = 1 + ALIKE_PERCENT / 100.0;
    /** Passes are timed until they took so long together: 0.6 seconds, twice that for parts, since collections of garbage count there. */
    private static final long TIMING_NANOS = 600_000_000L;

    private final Model model;
    private final TrainingTracker tracker;
    private final BudgetLevers levers;
    private final LayerModes modes;
    private final HeldMinibatch held;
    private final Terms terms;
    private final ScratchLever scratch;
    private final PriceList prices;
    private final Map<PassKind, PassMemory> memories;
    private final Predicate<PassKind> steady;
    private final StepTimes times;
    private final Set<Way> unprovable = new HashSet<>();

    private BudgetPlanner(
            Model model,
            TrainingTracker tracker,
            BudgetLevers levers,
            LayerModes modes,
            HeldMinibatch held,
            Terms terms,
            Trial trial) {
        this.model = model;
        this.tracker = tracker;
        this.levers = levers;
        this.modes = modes;
        this.held = held;
        this.terms = terms;
        this.scratch = levers.scratch(model)
                .map(its -> ScratchTrial.of(its, terms, trial.memories(), trial.plain()))
                .orElseGet(ScratchLever::none);
        this.prices = PriceList.of(terms.fixed(), trial.plainKind(), trial.plain(), trial.memories(), scratch);
        this.memories = trial.memories();
        this.steady = trial::isSteady;
        this.times =
                new StepTimes(trial::factor, this::scratchNanos, prices.batch(), PassMemory.HIGH, trial.smallNanos());
    }

    private double scratchNanos(Way way) {
        return scratch.extraNanos(way.scratchBytes(), way.partOf(prices.batch()));
    }

    /** What was decided, and the ways that it was decided among. */
    record Decision(PriceList prices, StepTimes times, Priced chosen) {}

    /**
     * Decides.
     *
     * @param modes of the layers of {@code model}, which the way that is chosen decides about
     * @param tried runs once passes with a few examples are over
     * @throws BudgetException if no way fits; nothing else is in effect then
     */
    static Decision decide(
            Model model, TrainingTracker tracker, BudgetLevers levers, LayerModes modes, Terms terms, Runnable tried) {
        HeldMinibatch held = HeldMinibatch.of(model);
        levers.reuse(model, Reuse.RELEASED);
        Optional<NetworkScratch> scratch = levers.scratch(model);
        scratch.ifPresent(its -> its.limit(0, 0)); // what convolutions take is found out for whole minibatches
        Trial trial = Trial.of(model, tracker, held, terms, modes, scratch);
        tried.run();
        return new BudgetPlanner(model, tracker, levers, modes, held, terms, trial).decide();
    }

    private Decision decide() {
        times.measureUpdate(model, Objects.requireNonNull(model.getGradientsViewArray(), "gradients"));
        Optional<Priced> measured = Optional.empty();
        for (int timed = 0; timed < MAX_TIMED; timed++) {
            Priced best = best();
            if (times.isMeasured(best.way())) {
                break;
            }
            measured = Optional.of(best);
            tryOut(best.way());
        }
        Priced chosen = best();
        if (measured.isEmpty() || !measured.get().equals(chosen)) {
            chosen = begun();
        }
        return new Decision(prices, times, chosen);
    }

    /** The best of the ways that can be begun. */
    private Priced begun() {
        while (true) {
            Priced best = best();
            begin(best.way());
            if (!unprovable.contains(best.way())) {
                return best;
            }
        }
    }

    /** The way that should be fastest among those that fit, and changes least among those as fast. */
    private Priced best() {
        List<Priced> fitting = prices.ways().stream()
                .filter(priced -> priced.bytes() <= terms.limitBytes() && !unprovable.contains(priced.way()))
                .toList();
        double fastest = fitting.stream()
                .mapToDouble(priced -> times.step(priced.way()))
                .min()
                .orElseThrow(this::refusal);
        return fitting.stream()
                .filter(priced -> times.step(priced.way()) <= fastest * ALIKE)
                .min(Comparator.<Priced, Exactness>comparing(
                                priced -> priced.way().exactness())
                        .thenComparing(priced -> !times.isMeasured(priced.way()))
                        .thenComparing(priced -> priced.way().parts())
                        .thenComparing(priced -> priced.way().stateInFile())
                        .thenComparing(priced -> priced.way().pass().keptInFiles())
                        .thenComparing(priced -> !priced.way().pass().keep().isAll())
                        .thenComparing(priced -> priced.way().pass().caching())
                        .thenComparing(priced -> priced.way().reuse())
                        .thenComparing(priced -> -priced.way().scratchBytes())
                        .thenComparing(priced -> times.step(priced.way())))
                .orElseThrow();
    }

    /** Names a budget that the next decision can meet, too: cuts that depend on times may take a few bytes less by chance. */
    private BudgetException refusal() {
        Priced least = leastOf(way -> steady.test(way.pass()))
                .or(() -> leastOf(way -> true))
                .orElse(prices.plain());
        return new BudgetException(
                tracker.track(model),
                prices.batch(),
                terms.limitBytes(),
                needed(least),
                least.way().text(prices.batch()),
                "");
    }

    private Optional<Priced> leastOf(Predicate<Way> offered) {
        return prices.ways().stream()
                .filter(priced -> offered.test(priced.way()) && !unprovable.contains(priced.way()))
                .min(Comparator.comparingLong(this::needed));
    }

    /** Bytes of a budget that can be decided and met with such a way. */
    private long needed(Priced priced) {
        PassMemory memory = memories.get(priced.way().pass());
        return memory == null || priced.way().reuse() != Reuse.PLANNED
                ? priced.bytes()
                : Math.max(priced.bytes(), terms.fixed().takesRehearsal(memory));
    }

    /** Puts {@code way} into effect for the minibatch that {@code model} holds; false when its plans cannot be proved. */
    static boolean begin(Model model, BudgetLevers levers, LayerModes modes, Way way, StepOptions asked) {
        HeldMinibatch held = HeldMinibatch.of(model);
        use(model, levers, modes, way, model.batchSize(), asked);
        return rehearse(model, levers, held, way);
    }

    /** Puts {@code way}, decided for minibatches of {@code batch}, into effect, without having reuse learn anything. */
    static void use(Model model, BudgetLevers levers, LayerModes modes, Way way, int batch, StepOptions asked) {
        if (way.pass().caching() == Caching.KEPT) {
            modes.close();
        } else {
            modes.lean(model);
        }
        levers.reuse(model, way.reuse());
        levers.step(model, way.step(batch, asked));
    }

    /**
     * Has reuse learn the minibatch {@code held}, with as little scratch memory as convolutions can do with: plans are proved with the same
     * ways throughout, and there is no arena that lends any. Then they have that of {@code way}, which is in effect.
     */
    static boolean rehearse(Model model, BudgetLevers levers, HeldMinibatch held, Way way) {
        Optional<NetworkScratch> scratch = levers.scratch(model);
        scratch.ifPresent(its -> its.limit(0));
        try {
            return levers.rehearse(model, examples -> held.give(0, examples));
        } finally {
            held.restore();
            scratch.ifPresent(way::limit);
        }
    }

    private void begin(Way way) {
        WorkspaceReuse.releaseBlocks(); // a way that was timed before may have had them grow
        if (!begin(model, levers, modes, way, terms.asked())) {
            strikePlanned(other -> other.pass().equals(way.pass()));
        }
    }

    /** No plan serves the passes of such ways. */
    private void strikePlanned(Predicate<Way> such) {
        prices.ways().stream()
                .map(Priced::way)
                .filter(other -> other.reuse() == Reuse.PLANNED && such.test(other))
                .forEach(unprovable::add);
    }

    private void tryOut(Way way) {
        begin(way);
        if (!unprovable.contains(way)) {
            int part = way.partOf(prices.batch());
            held.give(0, part);
            try {
                Untouched.by(
                        model,
                        () -> PassTimes.real()
                                .typical(() -> pass(way), (way.parts() > 1 ? 2 : 1) * TIMING_NANOS, way.parts())
                                .ifPresentOrElse(
                                        nanos -> times.measured(way, nanos),
                                        () -> strikePlanned(
                                                other -> other.pass().equals(way.pass())
                                                        && other.partOf(prices.batch()) == part)));
            } finally {
                held.restore();
            }
        }
    }

    /** Whether it was computed as later ones will be. */
    private boolean pass(Way way) {
        NetworkAccess.computeSilently(model);
        Nd4j.getExecutioner().commit();
        // Plans of this network stay where another way, or another handle, had asked for some.
        boolean served = way.reuse() != Reuse.PLANNED || levers.serves(model);
        tracker.passEnded(model); // has a plan proved, which serves later passes only
        tracker.extraPass(model, ExtraPass.REHEARSED);
        return served;
    }
}
