// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.recording.ByteSize;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkIdentity;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.UpdaterState;
import io.memopt.strategy.cudnn.NetworkScratch;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.strategy.step.StepOptions;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.deeplearning4j.nn.api.Model;

/**
 * Decides for one network, from what an earlier run remembers or by {@link BudgetPlanner}, and makes sure that the decision itself was
 * within the budget. Threading: the training thread.
 */
final class BudgetDecider {
    /** A refusal names so much more than its own passes took. */
    private static final int MARGIN = 64;

    private static final double NANOS_PER_MILLI = 1e6;

    private final TrainingTracker tracker;
    private final String name;
    private final BudgetLevers levers;
    private final LayerModes modes;
    private final BudgetOptions options;
    private final StepOptions asked;
    private final BudgetProfile profile;
    private long trialBytes;

    /**
     * For the network of that {@code name}.
     *
     * @param modes of its layers
     * @param asked what every way has to keep to
     */
    BudgetDecider(
            TrainingTracker tracker,
            String name,
            BudgetLevers levers,
            LayerModes modes,
            BudgetOptions options,
            StepOptions asked) {
        this.tracker = tracker;
        this.name = name;
        this.levers = levers;
        this.modes = modes;
        this.options = options;
        this.asked = asked;
        this.profile = BudgetProfile.of(options.profile());
    }

    /**
     * Decides for the minibatch that {@code model} holds, and puts that into effect.
     *
     * @param peak begun before anything was done
     * @param amidTraining whether the network is trained by another decision already; what fits is taken then even if finding it did not
     * @throws BudgetException if no way to train fits
     */
    BudgetReport decide(Model model, long limit, DecisionPeak peak, boolean amidTraining) {
        long begun = System.nanoTime();
        trialBytes = 0;
        Optional<String> key = profile.isKept() ? Optional.of(key(model)) : Optional.empty();
        Optional<BudgetProfile.Remembered> known = key.flatMap(profile::find)
                .filter(choice -> !(amidTraining && choice.chosen().stateInFile()) && again(model, choice, limit));
        BudgetProfile.Remembered choice;
        try {
            choice = known.orElseGet(() -> decidedAnew(model, limit, peak, amidTraining));
        } catch (BudgetException e) {
            long deciding = peak.bytes();
            deciding += deciding / MARGIN; // a decision that finds a way goes on to time it
            throw deciding > e.leastBytes() && !amidTraining
                    ? tooMuchToDecide(model, limit, deciding, e.how(), e.leastBytes())
                    : e;
        }
        long deciding = peak.bytes();
        if (deciding > limit && !amidTraining) {
            BudgetRow chosen = choice.chosen();
            throw tooMuchToDecide(model, limit, deciding, chosen.strategy(), chosen.peakBytes());
        }
        if (known.isEmpty()) {
            key.ifPresent(its -> profile.put(its, choice));
        }
        return new BudgetReport(
                options.toString(),
                limit,
                model.batchSize(),
                choice.plain(),
                choice.chosen(),
                choice.front(),
                deciding,
                (System.nanoTime() - begun) / NANOS_PER_MILLI,
                known.isPresent(),
                OptionalLong.empty(),
                OptionalDouble.empty());
    }

    /** Most bytes while passes with a few examples were tried for the latest decision; 0 for one that was remembered. */
    long trialBytes() {
        return trialBytes;
    }

    /** What makes decisions comparable. */
    private String key(Model model) {
        return NetworkIdentity.of(model) + " " + HeldMinibatch.of(model).shapes() + " " + options + " "
                + options.exactness() + " " + asked + (levers.guards() ? " guarded" : "")
                + levers.scratch(model).map(its -> " " + its.description()).orElse("");
    }

    /** Puts the choice of an earlier run into effect; false when it does not fit now, or cannot be proved any more. */
    private boolean again(Model model, BudgetProfile.Remembered choice, long limit) {
        BudgetRow row = choice.chosen();
        if (row.peakBytes() > limit) {
            return false;
        }
        levers.reuse(model, Reuse.RELEASED);
        boolean served = BudgetPlanner.begin(model, levers, modes, Way.of(row), asked);
        if (!served) {
            levers.release(model);
            modes.close();
        }
        return served;
    }

    private BudgetProfile.Remembered decidedAnew(Model model, long limit, DecisionPeak peak, boolean amidTraining) {
        long kept = levers.scratch(model).map(NetworkScratch::keptBytes).orElse(0L);
        Terms terms = Terms.of(model, levers.guards(), options, asked, limit, kept, amidTraining);
        BudgetPlanner.Decision decision;
        try (DecisionPeak trial = peak.another(held(model))) {
            decision = BudgetPlanner.decide(model, tracker, levers, modes, terms, () -> trialBytes = trial.bytes());
        }
        List<BudgetRow> rows =
                decision.prices().ways().stream().map(way -> row(decision, way)).toList();
        return new BudgetProfile.Remembered(
                row(decision, decision.prices().plain()), row(decision, decision.chosen()), ParetoFront.of(rows));
    }

    private BudgetException tooMuchToDecide(Model model, long limit, long deciding, String how, long training) {
        return new BudgetException(
                name,
                model.batchSize(),
                limit,
                deciding,
                how,
                " Training itself would need no more than " + ByteSize.format(training)
                        + ", but passes with " + PassMemory.HIGH + " examples and a copy of the gradients took that"
                        + " much to find it out. With larger minibatches they are a smaller share.");
    }

    /** Bytes of the budget. */
    long limit(Model model) {
        return options.bytes() > 0 ? options.bytes() : (long) (options.share() * (FreeMemory.bytes() + held(model)));
    }

    /** What exists already of what the budget counts. */
    static long held(Model model) {
        FlatBytes flat = FlatBytes.of(model);
        return flat.parameters()
                + (model.getGradientsViewArray() == null ? 0 : flat.gradients())
                + UpdaterState.bytes(model)
                + HeldMinibatch.of(model).bytes();
    }

    private static BudgetRow row(BudgetPlanner.Decision decision, Priced priced) {
        Way way = priced.way();
        PassKind pass = way.pass();
        return new BudgetRow(
                way.text(decision.prices().batch()),
                way.reuse(),
                pass.keep().cuts(),
                pass.keptInFiles(),
                pass.caching(),
                pass.precision(),
                way.parts(),
                way.stateInFile(),
                way.scratchBytes(),
                way.scratchAloneBytes(),
                way.exactness(),
                priced.bytes(),
                decision.times().step(way) / NANOS_PER_MILLI);
    }
}
