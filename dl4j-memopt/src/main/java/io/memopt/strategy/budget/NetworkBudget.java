// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TrainingObserver;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.listeners.training.ModelObserver;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkIdentity;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.SampleMinibatch;
import io.memopt.strategy.UpdaterState;
import io.memopt.strategy.cudnn.NetworkScratch;
import io.memopt.strategy.step.ArrivingMinibatch;
import io.memopt.strategy.step.FirstMinibatch;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.strategy.step.NetworkScopes;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.TrainingSteps;
import java.lang.ref.WeakReference;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The budget of one network: decides with the first minibatch, or before from a sample, and watches what comes of it. Holds the
 * network weakly.
 *
 * <p>Threading: decisions on the training thread; reports from any.
 */
public final class NetworkBudget implements ModelObserver, TrainingObserver, ArrivingMinibatch, AutoCloseable {
    /** A refusal names so much more than its own passes took. */
    private static final int MARGIN = 64;

    private static final Logger log = LoggerFactory.getLogger(NetworkBudget.class);
    private static final double NANOS_PER_MILLI = 1e6;
    /** Of larger minibatches, each of which takes seconds to decide for. */
    private static final int MOST_DECISIONS = 8;
    /** Of examples that cannot be planned, beyond which no more are rehearsed. */
    private static final int MOST_UNPLANNED = 256;

    private final WeakReference<Model> network;
    private final String name;
    private final TrainingTracker tracker;
    private final BudgetLevers levers;
    private final BudgetOptions options;
    private final StepOptions asked;
    private final MemorySpace space = Nd4jFacts.isCuda() ? MemorySpace.DEVICE : MemorySpace.HOST;
    private final BudgetProfile profile;
    private final FirstMinibatch first;
    private final LayerModes modes = new LayerModes();
    private volatile @Nullable BudgetOutcome outcome;
    private int decisions;
    /** Minibatches from so many bytes on cannot be trained within the budget. */
    private long refusedBytes = Long.MAX_VALUE;
    /** Of examples of which no plan could be proved. */
    private final Set<String> unplanned = new HashSet<>();

    /** Passes are not those of training. */
    private boolean deciding;

    private boolean toldLarger;
    private boolean toldWorker;
    /** Nobody knows what training takes, so that it goes on as it is. */
    private boolean failed;

    private NetworkBudget(
            Model model, TrainingTracker tracker, BudgetLevers levers, BudgetOptions options, StepOptions asked) {
        this.network = new WeakReference<>(model);
        this.name = tracker.track(model);
        this.tracker = tracker;
        this.levers = levers;
        this.options = options;
        this.asked = asked;
        this.profile = BudgetProfile.of(options.profile());
        this.first = FirstMinibatch.await(model, tracker, this::decide);
    }

    /**
     * Refuses networks of which no budget can be kept, or that cannot be trained as is asked for beside it.
     *
     * @throws IllegalArgumentException with the setting that stands in the way
     */
    public static void check(Model model, BudgetOptions options, StepOptions asked) {
        TrainingSteps.checkBesideBudget(model, asked);
        String why = refusal(model);
        if (!why.isEmpty()) {
            throw new IllegalArgumentException("budget=" + options + " but the network " + why);
        }
    }

    private static String refusal(Model model) {
        boolean layers = model instanceof MultiLayerNetwork;
        BackpropType backprop = layers
                ? ((MultiLayerNetwork) model).getLayerWiseConfigurations().getBackpropType()
                : ((ComputationGraph) model).getConfiguration().getBackpropType();
        if (backprop != BackpropType.Standard) {
            return "is trained by " + backprop
                    + ", expected Standard: what segments of a sequence take cannot be told from a few examples";
        }
        WorkspaceMode mode = layers
                ? ((MultiLayerNetwork) model).getLayerWiseConfigurations().getTrainingWorkspaceMode()
                : ((ComputationGraph) model).getConfiguration().getTrainingWorkspaceMode();
        return mode == WorkspaceMode.NONE
                ? "trains with WorkspaceMode.NONE, expected ENABLED: without workspaces arrays wait for the Java garbage"
                        + " collector, and nothing bounds them"
                : "";
    }

    /**
     * Waits for the first minibatch of {@code model}, which decides.
     *
     * @param asked minibatches of one update, a precision if it is not to be that of the network, and folders for files, which are
     *     used where the budget needs them
     */
    public static NetworkBudget begin(
            Model model, TrainingTracker tracker, BudgetLevers levers, BudgetOptions options, StepOptions asked) {
        NetworkBudget budget = new NetworkBudget(model, tracker, levers, options, asked);
        levers.onMinibatch(budget);
        tracker.addModelObserver(budget);
        tracker.addObserver(budget);
        return budget;
    }

    /** Whether this is the budget of {@code model}. */
    public boolean isOf(Model model) {
        return network.refersTo(model);
    }

    /**
     * Decides for minibatches shaped as {@code sample}, unless that was done; the network is as it was afterwards.
     *
     * @throws BudgetException if no way to train fits
     * @throws IllegalArgumentException if the sample has too few examples, or cannot be split
     */
    public void decide(Model model, MultiDataSet sample) {
        SampleMinibatch.with(model, sample, () -> decide(model));
    }

    /**
     * Decides with the minibatch that {@code model} holds, unless that was done. When something unforeseen stands in the way, a
     * warning says so, and training goes on without a budget.
     *
     * @throws BudgetException if no way to train fits
     * @throws IllegalArgumentException if the minibatch has too few examples, or cannot be split
     */
    public void decide(Model model) {
        if (outcome == null && !failed) {
            checkRows(model);
            first.pause(); // The step that is chosen takes the place of the network's own.
            decide(model, limit(model));
        }
    }

    private void decide(Model model, long limit) {
        MemoryLedger ledger = tracker.recording().ledger();
        long begun = System.nanoTime();
        long others = Math.max(0, ledger.reservedBytes(space) - held(model));
        PeakWindow fresh = ledger.openPeakWindow();
        MemoryWorkspace current = Nd4j.getMemoryManager().getCurrentWorkspace();
        decisions++;
        deciding = true;
        try {
            BudgetReport decided = decided(model, limit, others, fresh);
            HeldMinibatch held = HeldMinibatch.of(model);
            keep(new BudgetOutcome(decided, held, new ActualPeak(ledger, space, name, fresh, begun, held.bytes())));
        } catch (BudgetException e) {
            undo(model, fresh);
            throw e;
        } catch (RuntimeException | OutOfMemoryError e) {
            undo(model, fresh);
            NetworkScopes.clear(current);
            goOn(model, e);
        } catch (Error e) {
            undo(model, fresh);
            throw e;
        } finally {
            deciding = false;
        }
    }

    private synchronized void keep(BudgetOutcome next) {
        BudgetOutcome before = outcome;
        if (before != null) {
            before.close();
        }
        outcome = next;
        first.close();
        log.info("{}", next.decided());
    }

    /** Something unforeseen is no reason to stop training. */
    private void goOn(Model model, Throwable failure) {
        BudgetOutcome before = outcome;
        if (before == null) {
            failed = true;
            first.close();
            levers.step(model, asked.withoutOutputOffload());
            log.warn("The budget of {} cannot be decided. Training goes on without one.", name, failure);
        } else {
            stay(model, before);
            log.warn(
                    "The budget of {} cannot be decided for minibatches of {}. Training goes on as for {}, and may exceed it.",
                    name,
                    HeldMinibatch.of(model).shapes(),
                    before.minibatchShapes(),
                    failure);
        }
    }

    /** A larger minibatch than was decided for is decided for anew, while the state of the updater lies where that counts it. */
    @Override
    public boolean replacesStep(Model model) {
        BudgetOutcome before = outcome;
        if (before == null || decisions >= MOST_DECISIONS || before.way().stateInFile() || !isOf(model)) {
            return false;
        }
        HeldMinibatch held = HeldMinibatch.of(model);
        if (!before.isLarger(held) || held.bytes() >= refusedBytes || held.rows() < PassMemory.HIGH) {
            return false;
        }
        levers.release(model);
        modes.close();
        WorkspaceReuse.releaseBlocks();
        try {
            decide(model, before.decided().limitBytes());
        } catch (BudgetException e) {
            stay(model, before);
            tell(before, held, " " + e.getMessage());
        }
        return true;
    }

    /** What {@code before} decided is in effect again, for the minibatch that {@code model} holds and those as large. */
    private void stay(Model model, BudgetOutcome before) {
        refusedBytes = HeldMinibatch.of(model).bytes();
        Way way = before.way();
        BudgetPlanner.use(model, levers, modes, way, before.decided().batch(), asked);
        levers.scratch(model).ifPresent(way::limit);
    }

    private void undo(Model model, PeakWindow fresh) {
        fresh.close();
        modes.close();
        levers.release(model);
        levers.scratch(model).ifPresent(its -> its.limit(NetworkScratch.UNLIMITED, NetworkScratch.UNLIMITED));
        first.resume();
    }

    private BudgetReport decided(Model model, long limit, long others, PeakWindow peaks) {
        long begun = System.nanoTime();
        Optional<String> key = profile.isKept() ? Optional.of(key(model)) : Optional.empty();
        Optional<BudgetProfile.Remembered> known =
                key.flatMap(profile::find).filter(choice -> again(model, choice, limit));
        BudgetProfile.Remembered choice;
        try {
            choice = known.orElseGet(() -> decidedAnew(model, limit));
        } catch (BudgetException e) {
            long deciding = taken(peaks, others);
            deciding += deciding / MARGIN; // a decision that finds a way goes on to time it
            throw deciding > e.leastBytes() ? tooMuchToDecide(model, limit, deciding, e.how(), e.leastBytes()) : e;
        }
        long deciding = taken(peaks, others);
        if (deciding > limit) {
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
            modes.close();
        }
        return served;
    }

    private BudgetProfile.Remembered decidedAnew(Model model, long limit) {
        long kept = levers.scratch(model).map(NetworkScratch::keptBytes).orElse(0L);
        Terms terms = Terms.of(model, levers.guards(), options, asked, limit, kept);
        BudgetPlanner.Decision decision = BudgetPlanner.decide(model, tracker, levers, modes, terms);
        List<BudgetRow> rows =
                decision.prices().ways().stream().map(way -> row(decision, way)).toList();
        return new BudgetProfile.Remembered(
                row(decision, decision.prices().plain()), row(decision, decision.chosen()), ParetoFront.of(rows));
    }

    private long taken(PeakWindow peaks, long others) {
        return Math.max(0, peaks.take().reservedBytes(space) - others);
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

    private long limit(Model model) {
        return options.bytes() > 0 ? options.bytes() : (long) (options.share() * (FreeMemory.bytes() + held(model)));
    }

    private static void checkRows(Model model) {
        HeldMinibatch held = HeldMinibatch.of(model);
        if (held.rows() < PassMemory.HIGH) {
            throw new IllegalArgumentException(
                    held.rows() == 0
                            ? "A budget cannot be decided: " + held.whyWhole()
                            : "A budget cannot be decided with a minibatch of " + Count.of(held.rows(), "example")
                                    + ", expected at least " + PassMemory.HIGH);
        }
    }

    /** What exists already of what the budget counts. */
    private static long held(Model model) {
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

    /** What was decided, with what came of it so far; empty before. */
    public Optional<BudgetReport> report() {
        return Optional.ofNullable(outcome).map(BudgetOutcome::report);
    }

    @Override
    public synchronized void iterationEnded(String which, long iteration, long epoch, long nanos) {
        BudgetOutcome now = outcome;
        if (now != null && which.equals(name)) {
            now.iterationEnded(nanos);
        }
    }

    /** Results of inference and evaluation are not counted. */
    @Override
    public synchronized void phaseEnded(String which, Phase phase, long nanos) {
        BudgetOutcome now = outcome;
        boolean outside = phase == Phase.INFERENCE || phase == Phase.EVALUATION;
        if (now != null && outside && which.equals(name)) {
            now.passEnded();
        }
    }

    /** One of other shapes needs plans of its own, and a larger one is not within the budget. */
    @Override
    public void arrives(Model model) {
        BudgetOutcome now = outcome;
        if (now != null && isOf(model)) {
            HeldMinibatch held = HeldMinibatch.of(model);
            Way way = now.way();
            if (tellIfLarger(now, held)) {
                Way larger = way.withScratch(way.scratchBytes(), NetworkScratch.UNLIMITED);
                levers.scratch(model).ifPresent(larger::limit); // else some pass may find no way at all
            }
            if (way.reuse() == Reuse.PLANNED && !isPlanned(model, held, way) && !isSmall(now, held)) {
                tell(now, held, " No plan of its workspaces could be proved.");
            }
        }
    }

    private boolean tellIfLarger(BudgetOutcome now, HeldMinibatch held) {
        return now.isLarger(held) && tell(now, held, " Give rehearse() the largest minibatch.");
    }

    /** Once; false later. */
    private boolean tell(BudgetOutcome now, HeldMinibatch held, String advice) {
        boolean fresh = !toldLarger;
        if (fresh) {
            toldLarger = true;
            log.warn(
                    "{} is trained with a minibatch of {}; the budget of {} was decided for {} and does not hold.{}",
                    name,
                    held.shapes(),
                    ByteSize.format(now.decided().limitBytes()),
                    now.minibatchShapes(),
                    advice);
        }
        return fresh;
    }

    /** Rehearses where there is no plan: else the first pass would take what it takes without one. */
    private boolean isPlanned(Model model, HeldMinibatch held, Way way) {
        if (levers.knowsMinibatch(model)) {
            return true;
        }
        if (held.rows() < PassMemory.HIGH) {
            tracker.recording().releaseArena(); // what the pass takes without a plan would lie beside it
            return false;
        }
        boolean hopeless = unplanned.size() >= MOST_UNPLANNED || unplanned.contains(held.itemShapes());
        if (hopeless) {
            return false;
        }
        boolean served = BudgetPlanner.rehearse(model, levers, held, way);
        if (!served) {
            unplanned.add(held.itemShapes());
        }
        return served;
    }

    /** Whether {@code held} has fewer and no larger examples than those that the decision computed without a plan, within the budget. */
    private static boolean isSmall(BudgetOutcome now, HeldMinibatch held) {
        return held.rows() < PassMemory.HIGH && now.hasSmallExamples(held);
    }

    /** Those that train by another step than ours, too. */
    @Override
    public void gradientsComputed(Model model) {
        BudgetOutcome now = outcome;
        if (now != null && !deciding && !toldLarger && isOf(model)) {
            tellIfLarger(now, HeldMinibatch.of(model));
        }
    }

    @Override
    public void workerBegins(Model model) {
        boolean its = tracker.originalOf(model) == network.get();
        BudgetOutcome now = outcome;
        if (its && now != null && now.way().pass().caching() != Caching.KEPT) {
            modes.leanConvolutions(model);
        }
        if (!toldWorker && its) {
            toldWorker = true;
            log.warn(
                    "{} is trained by threads with copies of it: the budget of {} is that of one of them, and only kept once"
                            + " rehearse() has decided.",
                    name,
                    options);
        }
    }

    /** Decides and watches no more; what is in effect stays until its owner ends it. */
    @Override
    public void close() {
        first.close();
        modes.close();
        tracker.removeModelObserver(this);
        tracker.removeObserver(this);
        synchronized (this) {
            BudgetOutcome last = outcome;
            if (last != null) {
                last.close();
            }
        }
    }
}
