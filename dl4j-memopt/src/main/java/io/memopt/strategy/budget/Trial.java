// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.Untouched;
import io.memopt.strategy.precision.HalfSettings;
import io.memopt.strategy.precision.Precision;
import io.memopt.strategy.step.HeldMinibatch;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.StepPass;
import io.memopt.strategy.step.TrainingSteps;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntConsumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/**
 * Passes over two and three examples of the minibatch that a network holds, of several kinds: what they take and how they compare in
 * time. The network is afterwards what it was, but for its gradients, which the next pass computes anyway.
 *
 * <p>Kinds that the decision rests on are always recorded: all activations, the fewest, and between them, by halving, the one that
 * computes least again and fits; the same with what is kept in files, where that is allowed. Half precision, where that is allowed, is
 * tried with all activations and the fewest; on a CPU, where it is slower, only if nothing else fits. Others are for the reader of the
 * front, as long as that does not take long.
 */
final class Trial {
    /** Time after which nothing is recorded that does not decide: two seconds. */
    private static final long FRONT_NANOS = 2_000_000_000L;

    private final Model model;
    private final TrainingTracker tracker;
    private final HeldMinibatch held;
    private final Terms terms;
    private final LayerModes modes;
    private final PassKind plainKind;
    private final PassKind basic;
    private final long begun = System.nanoTime();
    private final Map<PassKind, PassMemory> memories = new LinkedHashMap<>();
    private final Map<PassKind, Long> nanos = new HashMap<>();
    private final Set<PassKind> tried = new HashSet<>();
    private Optional<PassMemory> plain = Optional.empty();
    private ActivationLever lever = ActivationLever.none();

    private Trial(Model model, TrainingTracker tracker, HeldMinibatch held, Terms terms, LayerModes modes) {
        this.model = model;
        this.tracker = tracker;
        this.held = held;
        this.terms = terms;
        this.modes = modes;
        boolean caches = CacheSwitch.isOn(model);
        this.plainKind = new PassKind(Keep.ALL, false, caches ? Caching.KEPT : Caching.NONE, Precision.AS_CONFIGURED);
        this.basic = new PassKind(
                Keep.ALL,
                false,
                caches ? Caching.OFF : Caching.NONE,
                terms.asked().precision());
    }

    /**
     * Runs on the training thread, while nothing serves workspaces in ND4J's place.
     *
     * @param modes lean once plain training has been recorded
     */
    static Trial of(Model model, TrainingTracker tracker, HeldMinibatch held, Terms terms, LayerModes modes) {
        Trial trial = new Trial(model, tracker, held, terms, modes);
        Untouched.by(model, trial::run);
        WorkspaceReuse.releaseBlocks();
        return trial;
    }

    Map<PassKind, PassMemory> memories() {
        return memories;
    }

    /** Of Deeplearning4j's own passes. */
    PassKind plainKind() {
        return plainKind;
    }

    /** What those take; empty when they ask for other arrays each time. */
    Optional<PassMemory> plain() {
        return plain.or(() -> Optional.ofNullable(memories.get(basic)));
    }

    ActivationLever lever() {
        return lever;
    }

    /** Time of a pass of {@code kind}, as multiple of one that keeps all activations and does nothing else either. */
    double factor(PassKind kind) {
        PassKind simple = basic.with(kind.keep());
        double more =
                nanos.containsKey(kind) && nanos.containsKey(simple) ? (double) nanos.get(kind) / nanos.get(simple) : 1;
        return more * (1 + lever.extraShare(kind.keep()));
    }

    private void run() {
        try {
            // ND4J makes some constants once in the life of a process, and gradients are made with the first pass.
            held.give(0, PassMemory.HIGH);
            NetworkAccess.computePlainly(model);
            tracker.extraPass(model, ExtraPass.REHEARSED);
            if (LayerModes.matter(model) || basic.mixes()) {
                plain = record(plainKind);
                modes.lean(model);
            }
            if (canBeCut()) {
                lever = new SegmentLever(model, tracker);
            }
            List<PassKind> kinds = lever.choices().stream().map(basic::with).toList();
            search(kinds);
            files(kinds);
            halves();
            cached();
            for (PassKind kind : kinds) {
                if (System.nanoTime() - begun < FRONT_NANOS) {
                    fits(kind);
                }
            }
        } finally {
            held.restore();
        }
    }

    /** Of {@code kinds}, which keep less and less, looks for the first that fits. */
    private void search(List<PassKind> kinds) {
        boolean most = fits(kinds.get(0));
        boolean least =
                kinds.stream().filter(kind -> kind.keep().equals(lever.least())).anyMatch(this::fits);
        if (!most && terms.fixed().partsAllowed()) { // with parts any of them may be the fastest that fits
            kinds.forEach(this::fits);
        } else if (!most && least) {
            halve(kinds.subList(1, kinds.size()));
        }
    }

    private void files(List<PassKind> kinds) {
        List<PassKind> cut = kinds.stream()
                .filter(kind -> !kind.keep().isAll())
                .map(PassKind::inFiles)
                .toList();
        if (terms.asked().outputOffload().isPresent() && !cut.isEmpty() && !fits(kinds.get(0))) {
            search(cut);
        }
    }

    private void halves() {
        boolean wanted = terms.choosePrecision() && HalfSettings.refusal(model).isEmpty();
        PassMemory known = memories.get(basic);
        if (wanted && known != null && terms.haveRoomForCopy(known) && (Nd4jFacts.isCuda() || noneFits())) {
            PassKind half = basic.in(Precision.MIXED_HALF);
            fits(half);
            if (!lever.least().isAll()) {
                fits(half.with(lever.least()));
            }
        }
    }

    private boolean noneFits() {
        return new ArrayList<>(memories.keySet()).stream().noneMatch(this::fits);
    }

    /** A cache that is kept is one more kind, timed now that all others are, too. */
    private void cached() {
        if (plainKind.caching() == Caching.KEPT && terms.asked().precision() == Precision.AS_CONFIGURED) {
            plain.ifPresent(memory -> memories.put(plainKind, memory));
            modes.close();
            held.give(0, PassMemory.HIGH);
            long before = System.nanoTime();
            NetworkAccess.computePlainly(model);
            nanos.put(plainKind, System.nanoTime() - before);
            tracker.passEnded(model);
            tracker.extraPass(model, ExtraPass.REHEARSED);
            modes.lean(model);
        }
    }

    /** Of ways that keep less and less, looks for the first that fits. */
    private void halve(List<PassKind> kinds) {
        int low = 0;
        int high = kinds.size();
        while (low < high) {
            int middle = (low + high) / 2;
            if (fits(kinds.get(middle))) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
    }

    private boolean fits(PassKind kind) {
        if (tried.add(kind)) {
            record(kind).ifPresent(memory -> memories.put(kind, memory));
        }
        PassMemory memory = memories.get(kind);
        return memory != null && terms.fit(kind, memory);
    }

    private boolean canBeCut() {
        StepOptions any = new StepOptions(StepOptions.WHOLE, 1, 0);
        return !isShort() && TrainingSteps.refusal(model, any).isEmpty();
    }

    private boolean isShort() {
        return model instanceof MultiLayerNetwork network && network.getnLayers() <= 2;
    }

    private Optional<PassMemory> record(PassKind kind) {
        try (StepPass pass = new StepPass(model, kind.step(terms.asked()), tracker)) {
            IntConsumer recorded = batch -> {
                held.give(0, batch);
                long before = System.nanoTime();
                pass.compute();
                nanos.put(kind, System.nanoTime() - before);
                tracker.passEnded(model);
                tracker.extraPass(model, ExtraPass.REHEARSED);
            };
            if (kind.mixes()) {
                recorded.accept(PassMemory.HIGH); // makes the gradients of the copy
            }
            return PassMemory.record(tracker.recording(), recorded);
        }
    }
}
