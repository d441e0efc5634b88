// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.analysis.Exactness;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.Untouched;
import io.memopt.strategy.convolution.LeanConvolutions;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.TrainingSteps;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.function.Predicate;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/**
 * Passes over two and three examples of the minibatch that a network holds, in ways to keep activations: what they take and how they
 * compare in time. The network is afterwards what it was, but for its gradients, which the next pass computes anyway.
 *
 * <p>Ways that the decision rests on are always recorded: all activations, the fewest, and between them, by halving, the one that
 * computes least again and fits. Others are for the reader of the front, as long as that does not take long.
 */
final class Trial {
    /** Time after which nothing is recorded that does not decide: two seconds. */
    private static final long FRONT_NANOS = 2_000_000_000L;

    private final Model model;
    private final TrainingTracker tracker;
    private final HeldMinibatch held;
    private final Predicate<PassMemory> fits;
    private final boolean partsAllowed;
    private final LeanConvolutions convolutions;
    private final long begun = System.nanoTime();
    private final Map<Keep, PassMemory> memories = new LinkedHashMap<>();
    private final Set<Keep> tried = new HashSet<>();
    private Optional<PassMemory> plain = Optional.empty();
    private ActivationLever lever;

    private Trial(
            Model model,
            TrainingTracker tracker,
            HeldMinibatch held,
            Predicate<PassMemory> fits,
            boolean partsAllowed,
            LeanConvolutions convolutions) {
        this.model = model;
        this.tracker = tracker;
        this.held = held;
        this.fits = fits;
        this.partsAllowed = partsAllowed;
        this.convolutions = convolutions;
        this.lever = ActivationLever.none(() -> NetworkAccess.computePlainly(model));
    }

    /**
     * Runs on the training thread, while nothing serves workspaces in ND4J's place.
     *
     * @param fits whether whole minibatches can be computed in what passes take
     * @param partsAllowed whether they may be computed in parts, with which any of the ways may be the fastest that fits
     * @param convolutions begun after plain training has been recorded
     */
    static Trial of(
            Model model,
            TrainingTracker tracker,
            HeldMinibatch held,
            Predicate<PassMemory> fits,
            boolean partsAllowed,
            LeanConvolutions convolutions) {
        Trial trial = new Trial(model, tracker, held, fits, partsAllowed, convolutions);
        Untouched.by(model, trial::run);
        WorkspaceReuse.releaseBlocks();
        return trial;
    }

    Map<Keep, PassMemory> memories() {
        return memories;
    }

    /** Of plain training; empty when its passes ask for other arrays each time. */
    Optional<PassMemory> plain() {
        return plain.or(() -> Optional.ofNullable(memories.get(Keep.ALL)));
    }

    ActivationLever lever() {
        return lever;
    }

    private void run() {
        try {
            // ND4J makes some constants once in the life of a process, and gradients are made with the first pass.
            held.give(0, PassMemory.HIGH);
            NetworkAccess.computePlainly(model);
            tracker.extraPass(model, ExtraPass.REHEARSED);
            lean();
            if (canBeCut()) {
                lever = new SegmentLever(model, tracker);
            }
            record(lever.choices());
        } finally {
            held.restore();
        }
    }

    private void lean() {
        Layer[] layers = NetworkAccess.layers(model);
        if (!Nd4jFacts.isCuda() && LeanConvolutions.any(layers)) {
            plain = record(Keep.ALL);
            convolutions.begin(layers);
        }
    }

    private void record(List<Keep> choices) {
        boolean all = fits(Keep.ALL);
        boolean least = fits(lever.least());
        if (!all && partsAllowed) {
            choices.forEach(this::fits);
        } else if (!all && least) {
            halve(choices.subList(1, choices.size()));
        }
        for (Keep keep : choices) {
            if (System.nanoTime() - begun < FRONT_NANOS) {
                fits(keep);
            }
        }
    }

    /** Of ways that keep less and less, looks for the first that fits. */
    private void halve(List<Keep> ways) {
        int low = 0;
        int high = ways.size();
        while (low < high) {
            int middle = (low + high) / 2;
            if (fits(ways.get(middle))) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
    }

    private boolean fits(Keep keep) {
        if (tried.add(keep)) {
            record(keep).ifPresent(memory -> memories.put(keep, memory));
        }
        PassMemory memory = memories.get(keep);
        return memory != null && fits.test(memory);
    }

    private boolean canBeCut() {
        StepOptions any = new StepOptions(StepOptions.WHOLE, 1, 0);
        return !isShort() && TrainingSteps.refusal(model, any).isEmpty();
    }

    private boolean isShort() {
        return model instanceof MultiLayerNetwork network && network.getnLayers() <= 2;
    }

    private Optional<PassMemory> record(Keep keep) {
        IntConsumer pass = batch -> {
            held.give(0, batch);
            lever.pass(keep);
            tracker.passEnded(model);
            tracker.extraPass(model, ExtraPass.REHEARSED);
        };
        return PassMemory.record(tracker.recording(), pass);
    }

    /** Whether minibatches of {@code model} may be computed in parts, as far as {@code loosest} allows. */
    static boolean partsAllowed(Model model, Exactness loosest) {
        return loosest != Exactness.BITWISE
                && TrainingSteps.refusal(model, new StepOptions(1, 1, 1)).isEmpty();
    }
}
