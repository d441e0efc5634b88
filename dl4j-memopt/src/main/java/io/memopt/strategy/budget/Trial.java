// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.Untouched;
import io.memopt.strategy.cudnn.NetworkScratch;
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
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.IntConsumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Passes over two and three examples of the minibatch that a network holds, of several kinds: what they take and how they compare in
 * time. The network is afterwards what it was, but for its gradients, which the next pass computes anyway.
 *
 * <p>Kinds that the decision rests on are always recorded: all activations; if they do not fit whole, the one that computes least again
 * and fits, beginning with that which should as far as sizes of outputs tell, and if none does, the fewest; the same with what is kept in
 * files, where that is allowed. Half precision, where that is allowed, is tried with all activations, and if they do not fit with the
 * fewest; on a CPU, where it is slower, only if nothing else fits. Others are for the reader of the front, as long as that does not take
 * long: then layers are not even measured.
 */
final class Trial {
    /** Time after which nothing is recorded that does not decide: two seconds. */
    private static final long FRONT_NANOS = 2_000_000_000L;
    /** Small passes are timed until they took so long together: a tenth of a second. */
    private static final long SMALL_NANOS = 100_000_000L;

    private final Model model;
    private final TrainingTracker tracker;
    private final HeldMinibatch held;
    private final Terms terms;
    private final LayerModes modes;
    private final Optional<NetworkScratch> scratch;
    private final PassKind plainKind;
    private final PassKind basic;
    private final long begun = System.nanoTime();
    private final Map<PassKind, PassMemory> memories = new LinkedHashMap<>();
    private final Map<PassKind, Double> nanos = new HashMap<>();
    private final Set<PassKind> tried = new HashSet<>();
    private Optional<PassMemory> plain = Optional.empty();
    private @Nullable ActivationLever lever;

    private Trial(
            Model model,
            TrainingTracker tracker,
            HeldMinibatch held,
            Terms terms,
            LayerModes modes,
            Optional<NetworkScratch> scratch) {
        this.model = model;
        this.tracker = tracker;
        this.held = held;
        this.terms = terms;
        this.modes = modes;
        this.scratch = scratch;
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
     * @param scratch of the network's convolutions, if they take any
     */
    static Trial of(
            Model model,
            TrainingTracker tracker,
            HeldMinibatch held,
            Terms terms,
            LayerModes modes,
            Optional<NetworkScratch> scratch) {
        Trial trial = new Trial(model, tracker, held, terms, modes, scratch);
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

    /** Of segments once layers have been measured, which is done when it is first needed. */
    ActivationLever lever() {
        ActivationLever known = lever;
        if (known == null) {
            held.give(0, PassMemory.HIGH);
            known = canBeCut()
                    ? new SegmentLever(model, tracker, terms.asked().outputOffload())
                    : ActivationLever.none();
            lever = known;
        }
        return known;
    }

    /** Whether {@code kind} keeps all, or least in the way that is the same in every decision. */
    boolean isSteady(PassKind kind) {
        return kind.keep().isAll() || (lever != null && kind.keep().equals(lever.least(kind.keptInFiles())));
    }

    /** Nanoseconds of a pass of the basic kind over {@link PassMemory#HIGH} examples; empty where nobody needs it. */
    OptionalDouble smallNanos() {
        Double known = nanos.get(basic);
        return known == null ? OptionalDouble.empty() : OptionalDouble.of(known);
    }

    /** Time of a pass of {@code kind}, as multiple of one that keeps all activations and does nothing else either. */
    double factor(PassKind kind) {
        Double own = nanos.get(kind);
        Double simple = nanos.get(basic);
        if (own != null && simple != null) {
            return own / simple;
        }
        return kind.keep().isAll() ? 1 : 1 + lever().extraShare(kind.keep());
    }

    private void run() {
        try {
            NetworkAccess.flatGradients(model); // the first pass would make them
            held.give(0, PassMemory.HIGH);
            if (LayerModes.matter(model) || basic.mixes()) {
                plain = record(plainKind, false);
                modes.lean(model);
            } else {
                // ND4J makes some constants once in the life of a process.
                compute(() -> NetworkAccess.computePlainly(model));
            }
            if (!fits(basic)) {
                cut();
            }
            halves();
            cached();
            front();
        } finally {
            held.restore();
        }
    }

    /** Fewer activations, since passes that keep all do not fit. */
    private void cut() {
        search(cuts(basic));
        if (terms.asked().outputOffload().isPresent()) {
            search(cuts(basic.inFiles()));
        }
    }

    /** Kinds as {@code all} that keep less and less. */
    private List<PassKind> cuts(PassKind all) {
        return lever().choices(all.keptInFiles()).stream()
                .filter(keep -> !keep.isAll())
                .map(all::with)
                .toList();
    }

    /** Of {@code kinds}, looks for the first that fits, beginning with that which does as far as sizes of outputs tell. */
    private void search(List<PassKind> kinds) {
        if (kinds.isEmpty()) {
            return;
        }
        PassKind last = kinds.get(kinds.size() - 1);
        Keep fewest = lever().least(last.keptInFiles());
        PassKind least = fewest.isAll() ? last : last.with(fewest);
        PassKind first = kinds.stream().filter(this::mayFit).findFirst().orElse(least);
        if (terms.fixed().partsAllowed()) { // whole minibatches are not all there is
            fits(least);
        }
        int index = kinds.indexOf(first);
        if (fits(first)) {
            keepMore(kinds.subList(0, index), first);
        } else {
            halve(kinds.subList(index + 1, kinds.size()));
        }
        if (noneFits()) {
            fits(least);
        }
    }

    private boolean mayFit(PassKind kind) {
        return takes(basic) - saved(kind) <= terms.limitBytes();
    }

    /** Looks among {@code kinds}, which keep more than {@code fitting}, as long as they should fit by what that gave. */
    private void keepMore(List<PassKind> kinds, PassKind fitting) {
        double share = (double) (takes(basic) - takes(fitting)) / Math.max(1, saved(fitting));
        for (int i = kinds.size() - 1; i >= 0; i--) {
            PassKind kind = kinds.get(i);
            if (takes(basic) - share * saved(kind) > terms.limitBytes() || !fits(kind)) {
                return;
            }
        }
    }

    private long saved(PassKind kind) {
        return lever().savedBytes(kind.keep(), kind.keptInFiles(), terms.fixed().batch());
    }

    /** Bytes of whole minibatches; 0 where passes ask for other arrays each time. */
    private long takes(PassKind kind) {
        PassMemory memory = memories.get(kind);
        return memory == null ? 0 : terms.takes(kind, memory);
    }

    /** Ways that are only shown, or are one more choice where minibatches may be computed in parts. */
    private void front() {
        if (isTimeLeft()) {
            for (PassKind kind : cuts(basic)) {
                if (isTimeLeft()) {
                    fits(kind);
                }
            }
        }
    }

    private boolean isTimeLeft() {
        return System.nanoTime() - begun < FRONT_NANOS;
    }

    private void halves() {
        boolean wanted = terms.choosePrecision() && HalfSettings.refusal(model).isEmpty();
        PassMemory known = memories.get(basic);
        if (wanted && known != null && terms.haveRoomForCopy(known) && (Nd4jFacts.isCuda() || noneFits())) {
            PassKind half = basic.in(Precision.MIXED_HALF);
            Keep fewest = fits(half) ? Keep.ALL : lever().least(false);
            if (!fewest.isAll()) {
                fits(half.with(fewest));
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
            time(plainKind, () -> NetworkAccess.computePlainly(model));
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
            record(kind, isCompared(kind)).ifPresent(memory -> memories.put(kind, memory));
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

    private Optional<PassMemory> record(PassKind kind, boolean timed) {
        try (StepPass pass = new StepPass(model, kind.step(terms.asked()), tracker)) {
            IntConsumer recorded = batch -> {
                held.give(0, batch);
                compute(pass::compute);
            };
            if (kind.mixes()) {
                recorded.accept(PassMemory.HIGH); // makes the gradients of the copy
            }
            Optional<PassMemory> memory = PassMemory.record(tracker.recording(), scratch, recorded);
            if (timed) {
                time(kind, pass::compute);
            }
            return memory;
        }
    }

    /** Whether times of layers do not tell how long passes of {@code kind} take, or those of others are told by it. */
    private boolean isCompared(PassKind kind) {
        boolean others = plainKind.caching() == Caching.KEPT
                || terms.asked().outputOffload().isPresent()
                || terms.choosePrecision()
                || terms.fixed().partsAllowed();
        return kind.equals(basic) ? others : kind.keptInFiles() || kind.mixes() != basic.mixes();
    }

    /** Times passes that nobody records; those that were have had the JVM compile them. */
    private void time(PassKind kind, Runnable pass) {
        held.give(0, PassMemory.HIGH);
        PassTimes.real()
                .timed(
                        () -> {
                            compute(pass);
                            return true;
                        },
                        SMALL_NANOS,
                        1)
                .ifPresent(its -> nanos.put(kind, its));
    }

    private void compute(Runnable pass) {
        pass.run();
        Nd4j.getExecutioner().commit();
        tracker.passEnded(model);
        tracker.extraPass(model, ExtraPass.REHEARSED);
    }
}
