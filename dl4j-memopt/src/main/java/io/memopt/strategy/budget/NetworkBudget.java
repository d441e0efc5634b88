// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TrainingObserver;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.listeners.training.ModelObserver;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.SampleMinibatch;
import io.memopt.strategy.UpdaterState;
import io.memopt.strategy.cudnn.NetworkScratch;
import io.memopt.strategy.step.ArrivingMinibatch;
import io.memopt.strategy.step.FirstMinibatch;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.strategy.step.NetworkScopes;
import io.memopt.strategy.step.StepOptions;
import java.lang.ref.WeakReference;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.api.Model;
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
    private static final Logger log = LoggerFactory.getLogger(NetworkBudget.class);
    /** Of larger minibatches, each of which takes a second or some to decide for. */
    private static final int MOST_DECISIONS = 7;

    private static final String LARGEST = " Give rehearse() the largest minibatch.";
    /** Of examples that cannot be planned, beyond which no more are rehearsed. */
    private static final int MOST_UNPLANNED = 256;

    private final WeakReference<Model> network;
    private final String name;
    private final TrainingTracker tracker;
    private final BudgetLevers levers;
    private final BudgetOptions options;
    private final StepOptions asked;
    private final MemorySpace space = Nd4jFacts.isCuda() ? MemorySpace.DEVICE : MemorySpace.HOST;
    private final BudgetDecider decider;
    private final FirstMinibatch first;
    private final LayerModes modes = new LayerModes();
    private final ThreadBlocks blocks;
    private volatile @Nullable BudgetOutcome outcome;
    private int decisions;
    /** Minibatches from so many bytes on cannot be trained within the budget. */
    private long refusedBytes = Long.MAX_VALUE;
    /** Of examples of which no plan could be proved. */
    private final Set<String> unplanned = new HashSet<>();

    /** Passes are not those of training. */
    private boolean deciding;

    private final Set<Told> told = EnumSet.noneOf(Told.class);
    /** A step of ours has trained the network. */
    private boolean hears;

    private boolean scratchRelaxed;
    private boolean toldFew;
    private boolean toldWorker;
    /** Nobody knows what training takes, so that it goes on as it is. */
    private boolean failed;

    /** What was told since the latest decision. */
    private enum Told {
        LARGER,
        REFUSED,
        UNPLANNED,
        EXCEEDED
    }

    private NetworkBudget(
            Model model, TrainingTracker tracker, BudgetLevers levers, BudgetOptions options, StepOptions asked) {
        this.network = new WeakReference<>(model);
        this.name = tracker.track(model);
        this.tracker = tracker;
        this.levers = levers;
        this.options = options;
        this.asked = asked;
        this.blocks = new ThreadBlocks(tracker.recording());
        this.decider = new BudgetDecider(tracker, name, levers, modes, options, asked);
        this.first = FirstMinibatch.await(model, tracker, this::decideFirst);
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
            BudgetCheck.rows(model);
            first.pause(); // The step that is chosen takes the place of the network's own.
            decide(model, decider.limit(model));
        }
    }

    /** A few examples, as the end of an epoch has them, tell nothing: they are trained as they are, and the next minibatch decides. */
    private boolean decideFirst(Model model) {
        int rows = HeldMinibatch.of(model).rows();
        if (rows > 0 && rows < PassMemory.HIGH) {
            if (!toldFew) {
                toldFew = true;
                log.warn(
                        "{} begins with a minibatch of {}: its budget of {} is decided, and holds, from the first one with at least {} on.",
                        name,
                        Count.of(rows, "example"),
                        options,
                        PassMemory.HIGH);
            }
            return false;
        }
        decide(model);
        return true;
    }

    private void decide(Model model, long limit) {
        blocks.giveBack();
        MemoryLedger ledger = tracker.recording().ledger();
        long begun = System.nanoTime();
        PeakWindow fresh = ledger.openPeakWindow();
        MemoryWorkspace current = Nd4j.getMemoryManager().getCurrentWorkspace();
        long state = UpdaterState.bytes(model);
        deciding = true;
        try (DecisionPeak peak = new DecisionPeak(ledger, space, BudgetDecider.held(model))) {
            BudgetReport decided = decider.decide(model, limit, peak, isTrained());
            HeldMinibatch held = HeldMinibatch.of(model);
            tracker.classify(model);
            ActualPeak actual = new ActualPeak(ledger, space, name, fresh, begun, held.bytes(), peak.addresses());
            keep(new BudgetOutcome(decided, held, decider.trialBytes() - state, actual));
        } catch (BudgetException e) {
            undo(model, fresh);
            throw e;
        } catch (RuntimeException | OutOfMemoryError e) {
            undo(model, fresh);
            NetworkScopes.clear(current);
            goOn(model, e);
        } catch (Error e) {
            undo(model, fresh);
            BudgetOutcome before = outcome;
            if (before != null) {
                stay(model, before);
            }
            throw e;
        } finally {
            deciding = false;
        }
    }

    /** Whether an earlier decision has trained the network. */
    private boolean isTrained() {
        BudgetOutcome before = outcome;
        return before != null && before.hasTrained();
    }

    private synchronized void keep(BudgetOutcome next) {
        BudgetOutcome before = outcome;
        if (before != null) {
            before.close();
        }
        outcome = next;
        told.clear();
        first.close();
        BudgetReport decided = next.decided();
        log.info("{}", decided);
        if (decided.decidingBytes() > decided.limitBytes()) {
            log.warn(
                    "{} took {} while its budget of {} was decided for {}; from now on it is kept.",
                    name,
                    ByteSize.format(decided.decidingBytes()),
                    ByteSize.format(decided.limitBytes()),
                    next.minibatchShapes());
        }
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

    /** A larger minibatch than was decided for is decided for anew. */
    @Override
    public boolean replacesStep(Model model) {
        BudgetOutcome before = outcome;
        hears = true;
        if (before == null || !isOf(model)) {
            return false;
        }
        HeldMinibatch held = HeldMinibatch.of(model);
        if (!isToBeDecided(before, held)) {
            return false;
        }
        long taken = before.trialBytes(held, UpdaterState.bytes(model));
        if (taken > before.decided().limitBytes()) {
            refusedBytes = held.bytes();
            tell(Told.REFUSED, before, held, " To decide for it would take " + ByteSize.format(taken) + ".");
            return false;
        }
        decisions++;
        levers.release(model);
        modes.close();
        try {
            decide(model, before.decided().limitBytes());
        } catch (BudgetException e) {
            stay(model, before);
            tell(Told.REFUSED, before, held, " " + e.getMessage());
        }
        return true;
    }

    /** Not where its state would be brought back for it, or the scale of its loss would begin anew. */
    private boolean isToBeDecided(BudgetOutcome before, HeldMinibatch held) {
        return before.isLarger(held)
                && held.bytes() < refusedBytes
                && held.rows() >= PassMemory.HIGH
                && decisions < MOST_DECISIONS
                && !before.way().stateInFile()
                && !before.way().pass().mixes();
    }

    /** What {@code before} decided is in effect again, for the minibatch that {@code model} holds and those as large. */
    private void stay(Model model, BudgetOutcome before) {
        refusedBytes = HeldMinibatch.of(model).bytes();
        BudgetPlanner.use(model, levers, modes, before.way(), before.decided().batch(), asked);
    }

    private void undo(Model model, PeakWindow fresh) {
        fresh.close();
        modes.close();
        levers.release(model);
        levers.scratch(model).ifPresent(its -> its.limit(NetworkScratch.UNLIMITED, NetworkScratch.UNLIMITED));
        first.resume();
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
            blocks.iterationEnded();
            tellIfExceeded(now);
        }
    }

    private void tellIfExceeded(BudgetOutcome now) {
        long peak = now.exceedingBytes();
        if (peak > 0 && told.add(Told.EXCEEDED)) {
            log.warn(
                    "{} took {} in an iteration, its budget is {}. memopt.summary() tells by whom.",
                    name,
                    ByteSize.format(peak),
                    ByteSize.format(now.decided().limitBytes()));
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
        hears = true;
        if (now != null && isOf(model)) {
            blocks.iterationBegins();
            now.iterationBegins();
            HeldMinibatch held = HeldMinibatch.of(model);
            Way way = now.way();
            // Others are decided for with the next update.
            if (now.isLarger(held) && !isToBeDecided(now, held) && !told.contains(Told.REFUSED)) {
                tell(Told.LARGER, now, held, LARGEST);
            }
            if (way.reuse() == Reuse.PLANNED) {
                plan(model, now, held, way);
            }
            limitScratch(model, way, now.isLarger(held));
        }
    }

    /** Some pass of a larger minibatch may find no way at all within the limit beside the arena. */
    private void limitScratch(Model model, Way way, boolean larger) {
        if (larger) {
            Way relaxed = way.withScratch(way.scratchBytes(), NetworkScratch.UNLIMITED);
            levers.scratch(model).ifPresent(relaxed::limit);
        } else if (scratchRelaxed) {
            levers.scratch(model).ifPresent(way::limit);
        }
        scratchRelaxed = larger;
    }

    private void plan(Model model, BudgetOutcome now, HeldMinibatch held, Way way) {
        if (!isPlanned(model, held, way) && !isSmall(now, held)) {
            tell(Told.UNPLANNED, now, held, " No plan of its workspaces could be proved.");
        }
    }

    /** Once for each decision. */
    private void tell(Told what, BudgetOutcome now, HeldMinibatch held, String advice) {
        if (told.add(what)) {
            log.warn(
                    "{} is trained with a minibatch of {}; the budget of {} was decided for {} and does not hold.{}",
                    name,
                    held.shapes(),
                    ByteSize.format(now.decided().limitBytes()),
                    now.minibatchShapes(),
                    advice);
        }
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

    /** Those that train by another step than ours are told of, too. */
    @Override
    public void gradientsComputed(Model model) {
        BudgetOutcome now = outcome;
        if (now != null && !hears && !deciding && isOf(model)) {
            HeldMinibatch held = HeldMinibatch.of(model);
            if (now.isLarger(held)) {
                tell(Told.LARGER, now, held, LARGEST);
            }
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
