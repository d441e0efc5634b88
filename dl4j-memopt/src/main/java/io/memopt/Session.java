// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.cudnn.LayerEngineException;
import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.ArenaFigures;
import io.memopt.allocator.nd4j.ArenaOptions;
import io.memopt.allocator.nd4j.DeviceCheck;
import io.memopt.allocator.nd4j.HookException;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.NativeTemporaries;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.pool.DeviceReconciliation;
import io.memopt.allocator.pool.PoolStatistics;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.EventRing;
import io.memopt.allocator.recording.GarbageCollectionWatch;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.MemoryLimits;
import io.memopt.allocator.recording.ProcessWatch;
import io.memopt.allocator.recording.TraceWriter;
import io.memopt.allocator.use.ScopeCheck;
import io.memopt.allocator.use.ScopeFinding;
import io.memopt.allocator.use.UseBook;
import io.memopt.data.PrefetchStatistics;
import io.memopt.data.PrefetchTotals;
import io.memopt.guard.Autopsy;
import io.memopt.guard.GuardOptions;
import io.memopt.guard.HeadroomWatch;
import io.memopt.guard.MemoryGuard;
import io.memopt.guard.ReportFiles;
import io.memopt.guard.Strategies;
import io.memopt.listeners.jfr.JfrBridge;
import io.memopt.listeners.metrics.MemoptMetrics;
import io.memopt.listeners.metrics.PrefetchFigures;
import io.memopt.listeners.metrics.RecorderCost;
import io.memopt.listeners.metrics.RecorderFigures;
import io.memopt.listeners.metrics.TrainingTimers;
import io.memopt.listeners.training.MemoryListener;
import io.memopt.listeners.training.ModelObserver;
import io.memopt.listeners.training.Trackers;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.oom.PostMortem;
import io.memopt.report.MemorySummary;
import io.memopt.report.Prefetchers;
import io.memopt.report.SummaryBuilder;
import io.memopt.strategy.DeviceAccounts;
import io.memopt.strategy.ExcludedModels;
import io.memopt.strategy.GarbageRelease;
import io.memopt.strategy.MemoryService;
import io.memopt.strategy.ModeAdvice;
import io.memopt.strategy.NetworkAccess;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.PlannedReuse;
import io.memopt.strategy.SizedReuse;
import io.memopt.strategy.budget.BudgetReport;
import io.memopt.strategy.budget.NetworkBudget;
import io.memopt.strategy.cudnn.ConvolutionReport;
import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.strategy.cudnn.CudnnLayers;
import io.memopt.strategy.cudnn.NetworkScratch;
import io.memopt.strategy.offload.DeviceCopies;
import io.memopt.strategy.precision.HalfSettings;
import io.memopt.strategy.step.ArrivingMinibatch;
import io.memopt.strategy.step.OwnViewsOfTrained;
import io.memopt.strategy.step.StepGuard;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.TrainingSteps;
import io.memopt.verify.Hardware;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What all {@link MemOpt} handles of a process share: hooks, tracker, figures. Begins with the first handle and ends with
 * the last.
 *
 * <p>Threading: safe.
 */
final class Session {
    private static final Logger log = LoggerFactory.getLogger(Session.class);
    private static final int GRADIENT_ATTEMPTS = 2;
    private static final double ABANDONED_SECONDS = 60;
    private static final Duration SAMPLE_EVERY = Duration.ofSeconds(1);
    private static final int MAX_ENDED = 16;

    private static @Nullable Session running;

    private final TrainingTracker tracker;
    private final MemoryLedger ledger;
    private final GarbageCollectionWatch collections;
    private final TrainingTimers timers = new TrainingTimers();
    private final RunTimes times;
    private final MemoptMetrics metrics;
    private final @Nullable EventRing history;
    private final JfrBridge flightRecorder;
    private final Optional<EventSink> profilerRanges;
    private final CopyOnWriteArrayList<TraceWriter> traces = new CopyOnWriteArrayList<>();
    private volatile String deviceProblem = "";
    private volatile @Nullable DeviceAccounts accounts;
    private volatile @Nullable ScopeCheck scopeCheck;
    private @Nullable ProcessWatch processWatch;
    private volatile @Nullable PlannedReuse reuse;
    /** Networks whose budget has chosen other workspaces. */
    private final ExcludedModels excluded = new ExcludedModels();

    private volatile @Nullable SizedReuse sizing;
    private volatile @Nullable GarbageRelease garbage;
    private volatile @Nullable MemoryService service;
    private volatile @Nullable CudnnLayers cudnn;
    private volatile @Nullable TrainingSteps steps;
    private final HeadroomWatch headroom;
    private final @Nullable OwnViewsOfTrained ownViews;
    private final List<MemoryGuard> guards = new CopyOnWriteArrayList<>();
    private volatile @Nullable AllocationLimit limit;
    private final CopyOnWriteArrayList<NetworkBudget> budgets = new CopyOnWriteArrayList<>();
    /** Of networks that were left, the latest, for summaries that are asked for later. */
    private final CopyOnWriteArrayList<BudgetReport> endedBudgets = new CopyOnWriteArrayList<>();

    private final List<WeakReference<Model>> handles = new ArrayList<>();
    private final CopyOnWriteArrayList<AskedStep> asked = new CopyOnWriteArrayList<>();
    /** Ours, one for each network; those that users added are not among them. */
    private final Set<TrainingListener> ours =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private final ModelObserver workers = new ModelObserver() {
        @Override
        public void workerBegins(Model model) {
            listenToWorker(model);
        }
    };

    private Session(TrainingTracker tracker, MemOptConfig config) {
        this.tracker = tracker;
        this.ledger = tracker.recording().ledger();
        this.headroom = new HeadroomWatch(ledger);
        this.times = new RunTimes(ledger, RecorderCost::nanosPerEventNow, this::releasedBytes);
        this.history = config.history() == 0 ? null : new EventRing(powerOfTwo(config.history()));
        if (history != null) {
            ledger.addSink(history);
        }
        this.flightRecorder = JfrBridge.open(ledger);
        this.profilerRanges = ProfilerRanges.open(ledger);
        this.collections = GarbageCollectionWatch.start(ledger);
        this.metrics = MemoptMetrics.of(ledger, collections, timers)
                .recorder(recorderFigures())
                .build();
        tracker.addObserver(timers);
        tracker.addObserver(times);
        tracker.addModelObserver(workers);
        tracker.addModelObserver(headroom);
        this.ownViews = config.ownViews() ? new OwnViewsOfTrained() : null;
        if (ownViews != null) {
            tracker.addModelObserver(ownViews);
        }
        times.describe("dl4jVersion", Nd4jFacts.version());
        times.describe("backend", Nd4jFacts.backend());
        times.describe("hardware", Hardware.describe());
        times.describe("java", System.getProperty("java.vm.name") + " " + System.getProperty("java.version"));
    }

    /**
     * The running session, begun if need be, with one more handle for {@code model}.
     *
     * @param handle a new reference to {@code model}, which stands for the handle
     * @throws io.memopt.allocator.nd4j.HookException if hooks cannot be installed
     * @throws IllegalArgumentException if {@code model} is not initialised
     */
    static synchronized Session join(Model model, WeakReference<Model> handle, MemOptConfig config) {
        TrainingTracker tracker = Trackers.current();
        Session session = running;
        boolean begins = session == null || session.tracker != tracker;
        if (session == null || begins) {
            session = new Session(tracker, config);
            running = session;
        }
        try {
            session.add(model);
            if (begins) {
                session.warnOfLimits();
                session.checkDevice();
            }
            session.handles.add(handle);
            session.ask(AskedStep.of(model, config), model);
            return session;
        } finally {
            session.endIfUnused();
        }
    }

    /**
     * Refuses a step, guard or budget that {@code model} cannot have beside that of an earlier handle.
     *
     * @throws IllegalArgumentException with both
     */
    static synchronized void checkStep(Model model, MemOptConfig config) {
        Session session = running;
        if (session != null) {
            AskedStep later = AskedStep.of(model, config);
            session.asked.stream().filter(first -> first.isOf(model)).forEach(first -> first.check(later));
        }
    }

    private void ask(AskedStep step, Model model) {
        asked.removeIf(known -> known.network().refersTo(null));
        if (!step.isNothing() && asked.stream().noneMatch(known -> known.isOf(model))) {
            asked.add(step);
        }
    }

    /** Gives up a handle; the last one of a network detaches it, the last of all takes the hooks out. */
    void leave(WeakReference<Model> handle) {
        synchronized (Session.class) {
            handles.removeIf(other -> other == handle || other.refersTo(null));
            Model model = handle.get();
            if (model != null && handles.stream().noneMatch(other -> other.refersTo(model))) {
                remove(model);
            }
            endIfUnused();
        }
    }

    String nameOf(Model model) {
        return tracker.track(model);
    }

    MemoryLedger ledger() {
        return ledger;
    }

    MemoptMetrics metrics() {
        return metrics;
    }

    MemorySummary summary() {
        NativeTemporaries probe = MemoryHooks.temporaries();
        List<String> notes = new ArrayList<>(replacedListeners());
        if (!deviceProblem.isEmpty()) {
            notes.add(0, deviceProblem);
        }
        models().forEach(model -> notes.addAll(ModeAdvice.of(tracker.track(model), model)));
        models().forEach(model -> notes.addAll(HalfSettings.notes(model)));
        scopeFindings().forEach(finding -> notes.add(Count.of(finding.count(), "time") + ": " + finding.message()));
        PlannedReuse planned = reuse;
        if (planned != null) {
            notes.add(planned.note());
        }
        SizedReuse sized = sizing;
        if (sized != null) {
            notes.add(sized.note());
        }
        MemoryService serving = service;
        if (serving != null) {
            notes.addAll(serving.notes());
        }
        DeviceAccounts device = accounts;
        if (device != null) {
            notes.add(device.note(pool()));
        }
        PrefetchStatistics prefetched = PrefetchTotals.now();
        if (prefetched.batches() > 0) {
            notes.add(prefetched.toString());
        }
        TrainingSteps its = steps;
        if (its != null) {
            notes.addAll(its.notes());
        }
        guards.stream().map(MemoryGuard::note).filter(note -> !note.isEmpty()).forEach(notes::add);
        times.notes(notes);
        times.budgets(Stream.concat(
                        endedBudgets.stream(),
                        budgets.stream().map(NetworkBudget::report).flatMap(Optional::stream))
                .toList());
        return SummaryBuilder.of(ledger, times, probe == null ? List.of() : rows(probe));
    }

    /** Begins to record uses, for all handles and to the end of the session. Never throws. */
    void recordUses(boolean check) {
        try {
            UseBook book = MemoryHooks.recordUses();
            if (check && scopeCheck == null) {
                scopeCheck = new ScopeCheck(ledger.owners());
                book.check(scopeCheck);
            }
        } catch (HookException e) {
            log.warn("{} Training goes on without them.", e.getMessage());
        }
    }

    /** Begins to size workspaces, unless they are planned, for all handles and to the end of the session. Never throws. */
    synchronized void sizeReuse(@Nullable Path profile, ArenaOptions arenas) {
        if (reuse != null) {
            log.warn(
                    "reuse=SIZED changes nothing: an earlier handle has begun to plan workspaces, which holds for all handles.");
        } else if (sizing == null) {
            try {
                sizing = SizedReuse.begin(tracker, profile, arenas);
            } catch (HookException e) {
                log.warn("{} Training goes on without sizing.", e.getMessage());
            }
        }
    }

    private synchronized void endSizing() {
        SizedReuse sized = sizing;
        sizing = null;
        if (sized != null) {
            sized.close();
        }
    }

    /** Begins to plan workspaces, for all handles and to the end of the session. Never throws. */
    synchronized void planReuse(@Nullable Path profile, ArenaOptions arenas, boolean poisons) {
        if (reuse == null) {
            endSizing();
            try {
                reuse = PlannedReuse.begin(tracker, profile, arenas, poisons, excluded);
            } catch (HookException e) {
                log.warn("{} Training goes on without plans.", e.getMessage());
            }
        }
    }

    /** Whether plans, if there are any, serve passes of {@code model}. */
    void servePlans(Model model, boolean serves) {
        if (serves) {
            excluded.remove(model);
        } else {
            excluded.add(model);
            MemoryHooks.recording().releaseArena(); // else it would lie beside what passes take now
        }
    }

    /** Does nothing, with a warning, when nothing would be learnt. */
    void rehearse(Model model, MultiDataSet sample) {
        Optional<NetworkBudget> kept = budgetOf(model);
        if (kept.isPresent()) {
            kept.get().decide(model, sample);
            return;
        }
        PlannedReuse planned = reuse;
        if (planned != null) {
            planned.rehearse(model, sample);
        }
        SizedReuse sized = sizing;
        if (sized != null) {
            sized.rehearse(model, sample);
        }
        if (planned == null && sized == null) {
            log.warn(
                    "rehearse() prepares nothing for {}: there is no budget, and workspaces are neither planned nor sized."
                            + " Attach with reuse(PLANNED), reuse(SIZED) or a budget, or leave the call out.",
                    tracker.track(model));
        }
    }

    /** Begins to serve memory on CUDA, for all handles and to the end of the session. Never throws. */
    synchronized void serveMemory(MemOptConfig config) {
        if (service == null) {
            try {
                service = MemoryService.begin(config.deviceMemory(), config.hostMirrors(), config.deviceLimitBytes());
            } catch (HookException e) {
                log.warn("{} Memory stays ND4J's own.", e.getMessage());
            }
        }
    }

    void trimDeviceMemory() {
        MemoryService serving = service;
        if (serving != null) {
            serving.trim();
        }
    }

    DeviceReconciliation deviceMemory() {
        DeviceAccounts device = accounts;
        return device == null ? DeviceReconciliation.NONE : device.now(pool());
    }

    PoolStatistics pool() {
        MemoryService serving = service;
        return serving == null ? PoolStatistics.NONE : serving.pool();
    }

    /** Begins to free what layers drop, for all handles and to the end of the session. */
    synchronized void releaseGarbage() {
        if (garbage == null) {
            garbage = GarbageRelease.begin(tracker);
        }
    }

    /** Has cuDNN compute {@code model}'s convolutions until its last handle is closed. Never throws. */
    synchronized void useCudnn(Model model, Convolutions settings) {
        try {
            CudnnLayers layers = cudnn;
            if (layers == null) {
                layers = firstUse("cudnn", () -> CudnnLayers.begin(settings, new HelperScratch(ledger)));
                cudnn = layers;
            } else if (!layers.settings().equals(settings)) {
                log.warn(
                        "cuDNN goes on with {}, asked for were {}: one set serves the process.",
                        layers.settings(),
                        settings);
            }
            layers.attach(model);
        } catch (LayerEngineException e) {
            log.warn("{} Convolutions stay with Deeplearning4j.", e.getMessage());
        }
    }

    /** Trains {@code model} by {@code options} until its last handle is closed. */
    synchronized void controlStep(Model model, StepOptions options, GuardOptions guarding) {
        controlStep(model, options, guardOrNull(guarding), its -> {});
    }

    private void controlStep(Model model, StepOptions options, @Nullable StepGuard guard, ArrivingMinibatch arriving) {
        TrainingSteps its = steps;
        if (its == null) {
            its = TrainingSteps.begin(tracker);
            steps = its;
        }
        its.attach(model, options, guard, arriving);
    }

    /**
     * A ComputationGraph makes the array of its gradients before its first step begins, where no guard sees it run out of memory; so it
     * is made now, if need be once garbage has been collected.
     */
    void makeGradients(ComputationGraph graph) {
        for (int attempt = 0; graph.getFlattenedGradients() == null && attempt < GRADIENT_ATTEMPTS; attempt++) {
            try {
                NetworkAccess.flatGradients(graph);
                tracker.classify(graph);
            } catch (RuntimeException | OutOfMemoryError e) {
                log.warn(
                        "The {} of gradients of {} cannot be made, without which it cannot be trained.",
                        ByteSize.format(
                                graph.numParams() * graph.params().dataType().width()),
                        nameOf(graph),
                        e);
                System.gc();
            }
        }
    }

    /** A new guard, whose recoveries count; null when {@code options} ask for none. */
    @Nullable
    StepGuard guardOrNull(GuardOptions options) {
        return options.mode().guards() ? guard(options) : null;
    }

    private MemoryGuard guard(GuardOptions options) {
        Strategies strategies = new SessionStrategies(this);
        MemoryGuard guard = new MemoryGuard(
                options.mode(),
                ledger,
                strategies,
                new Autopsy(ledger, strategies, headroom),
                ReportFiles.in(options.reports()));
        guards.add(guard);
        return guard;
    }

    HeadroomWatch headroom() {
        return headroom;
    }

    PostMortem postMortem(Throwable failure, Optional<Model> model, ReportFiles files) {
        PostMortem dead = new Autopsy(ledger, new SessionStrategies(this), headroom).of(failure, model);
        files.write(dead);
        return dead;
    }

    /** Limits what ND4J holds, for all handles and to the end of the session. Never throws. */
    synchronized void limit(long bytes) {
        try {
            limit = MemoryHooks.limit(bytes);
        } catch (HookException e) {
            log.warn("{} Training goes on without a limit.", e.getMessage());
        }
    }

    /** Whether all networks are. */
    boolean isPlanned() {
        return reuse != null && excluded.isEmpty();
    }

    /** Begins to plan amid training; what has begun ends again when no plan for {@code examples} follows. */
    synchronized OptionalLong planAmidTraining(Model model, MultiDataSet sample, int examples) {
        SizedReuse sizedBefore = sizing;
        if (sizedBefore != null) {
            return OptionalLong.empty(); // it has an arena already, which a plan would only make smaller
        }
        boolean plannedBefore = reuse != null;
        boolean excludedBefore = excluded.contains(model);
        releaseGarbage();
        planReuse(null, ArenaOptions.DEFAULTS, false);
        PlannedReuse planned = reuse;
        if (planned == null) {
            return OptionalLong.empty();
        }
        excluded.remove(model);
        OptionalLong bytes = OptionalLong.empty();
        try {
            planned.rehearse(model, sample);
            bytes = planned.arenaBytes(model, examples);
        } catch (RuntimeException | OutOfMemoryError e) {
            log.debug("No plan amid training", e);
        }
        if (bytes.isEmpty() && excludedBefore) {
            excluded.add(model);
        }
        if (bytes.isEmpty() && !plannedBefore) {
            reuse = null;
            planned.close();
        }
        return bytes;
    }

    /** Keeps the training of {@code model} within a budget until its last handle is closed. */
    void keepBudget(Model model, MemOptConfig config) {
        if (budgetOf(model).isEmpty()) {
            budgets.add(NetworkBudget.begin(
                    model, tracker, new SessionLevers(this, config), config.budget(), config.step()));
        }
    }

    Optional<BudgetReport> budget(Model model) {
        return budgetOf(model).flatMap(NetworkBudget::report);
    }

    private Optional<NetworkBudget> budgetOf(Model model) {
        return budgets.stream().filter(budget -> budget.isOf(model)).findFirst();
    }

    /**
     * Trains {@code model} by {@code options}, with {@code guard} if there is one, whatever was set before.
     *
     * @param arriving hears of each minibatch
     */
    synchronized void replaceStep(
            Model model, StepOptions options, @Nullable StepGuard guard, ArrivingMinibatch arriving) {
        releaseStep(model);
        controlStep(model, options, guard, arriving);
    }

    /** Gives {@code model} its own step back. */
    synchronized void releaseStep(Model model) {
        TrainingSteps its = steps;
        if (its != null) {
            its.detach(model);
        }
    }

    /** Has reuse learn from the minibatch that {@code model} holds; false when a plan was refused. */
    boolean rehearseHeld(Model model, IntConsumer give) {
        PlannedReuse planned = reuse;
        SizedReuse sized = sizing;
        if (planned != null && planned.isExcluded(model)) {
            return true;
        }
        if (planned != null) {
            planned.rehearseHeld(model, give);
            return planned.serves(model);
        }
        if (sized != null) {
            sized.rehearseHeld(model, give);
        }
        return true;
    }

    /** Whether the latest pass of {@code model} on the calling thread was served from a plan, if there are any. */
    boolean serves(Model model) {
        PlannedReuse planned = reuse;
        return planned == null || planned.serves(model);
    }

    /** Whether reuse need not learn the minibatch that {@code model} holds. */
    boolean knowsMinibatch(Model model) {
        PlannedReuse planned = reuse;
        return planned == null || planned.knowsMinibatch(model);
    }

    void applyGathered(Model model) {
        TrainingSteps its = steps;
        if (its != null) {
            its.applyGathered(model);
        }
    }

    Optional<NetworkScratch> scratch(Model model) {
        CudnnLayers layers = cudnn;
        return layers == null ? Optional.empty() : layers.scratch(model);
    }

    Optional<ConvolutionReport> convolutions(Model model) {
        CudnnLayers layers = cudnn;
        return layers == null ? Optional.empty() : layers.report(model);
    }

    private long releasedBytes() {
        GarbageRelease release = garbage;
        return release == null ? 0 : release.releasedBytes();
    }

    List<PlanRow> plans() {
        PlannedReuse planned = reuse;
        return planned == null ? List.of() : planned.plans();
    }

    List<ScopeFinding> scopeFindings() {
        ScopeCheck check = scopeCheck;
        return check == null ? List.of() : check.findings();
    }

    void addTrace(TraceWriter writer) {
        traces.add(writer);
        ledger.addSinkWithLive(writer);
        synchronized (Session.class) {
            if (processWatch == null) {
                processWatch = ProcessWatch.start(ledger, SAMPLE_EVERY);
            }
        }
    }

    void removeTrace(TraceWriter writer) {
        UseBook uses = tracker.recording().uses();
        if (uses != null) {
            uses.tellLive();
        }
        ledger.tellViews();
        endWatchWithLastTrace(writer);
        ledger.removeSink(writer);
        writer.close();
        traces.remove(writer);
    }

    /** The process is looked at only while somebody writes it down. */
    private void endWatchWithLastTrace(TraceWriter ending) {
        synchronized (Session.class) {
            ProcessWatch watch = processWatch;
            if (watch != null && traces.stream().allMatch(other -> other == ending)) {
                watch.close();
                processWatch = null;
            }
        }
    }

    /** The latest events, oldest first; empty when no history is kept. */
    List<MemoryEvent> recentEvents() {
        return history == null ? List.of() : history.snapshot();
    }

    /** With what is held already, the network included: later it is only more. */
    private void warnOfLimits() {
        long offHeap = ledger.reservedBytes(MemorySpace.HOST) + ledger.reservedBytes(MemorySpace.PINNED);
        MemoryLimits.current().warnings(offHeap).forEach(log::warn);
    }

    /** On CPU there is nothing to doubt. The check multiplies matrices, which is the first use of cuBLAS if nothing was. */
    private void checkDevice() {
        if (Nd4jFacts.isCuda()) {
            accounts = DeviceAccounts.begin(ledger).orElse(null);
            firstUse("cublas", DeviceCheck::problem).ifPresent(problem -> {
                log.error(problem);
                deviceProblem = problem;
            });
        }
    }

    private <T> T firstUse(String library, Supplier<T> first) {
        DeviceAccounts device = accounts;
        return device == null ? first.get() : device.firstUse(library, first);
    }

    private void add(Model model) {
        tracker.track(model);
        boolean alone = models().stream().allMatch(other -> other == model);
        times.describe(alone ? "model" : "model " + tracker.track(model), describe(model));
        listenTo(model);
    }

    /** Network and copies begin with the listeners that the network had when its wrapper was built. */
    private void listenToWorker(Model model) {
        synchronized (Session.class) {
            Model original = tracker.originalOf(model);
            if (handles.stream().anyMatch(handle -> handle.refersTo(original))) {
                listenTo(model);
            }
        }
    }

    private void listenTo(Model model) {
        if (NetworkAccess.listeners(model).stream().noneMatch(MemoryListener.class::isInstance)) {
            MemoryListener listener = new MemoryListener(tracker);
            ours.add(listener);
            NetworkAccess.renewListeners(model);
            model.addListeners(listener);
        }
    }

    /** A MemoryListener that a user added by hand stays, and with it the network and the hooks. */
    private void remove(Model model) {
        tracker.copiesOf(model).forEach(this::remove);
        asked.removeIf(known -> known.isOf(model));
        CudnnLayers layers = cudnn;
        if (layers != null) {
            layers.detach(model);
        }
        budgetOf(model).ifPresent(its -> {
            endBudget(its);
            servePlans(model, true);
        });
        TrainingSteps its = steps;
        if (its != null) {
            its.detach(model);
        }
        List<TrainingListener> others = new ArrayList<>(NetworkAccess.listeners(model));
        if (others.removeIf(ours::contains)) {
            NetworkAccess.renewListeners(model);
            model.setListeners(others.toArray(TrainingListener[]::new));
        }
        if (others.stream().noneMatch(MemoryListener.class::isInstance)) {
            tracker.untrack(model);
        }
    }

    private void endBudget(NetworkBudget budget) {
        budget.report().ifPresent(endedBudgets::add);
        if (endedBudgets.size() > MAX_ENDED) {
            endedBudgets.remove(0);
        }
        budget.close();
        budgets.remove(budget);
    }

    private void endIfUnused() {
        if (handles.isEmpty()) {
            end();
            running = running == this ? null : running;
        }
    }

    private void end() {
        metrics.close();
        flightRecorder.close();
        profilerRanges.ifPresent(ledger::removeSink);
        if (history != null) {
            ledger.removeSink(history);
        }
        collections.close();
        tracker.removeObserver(timers);
        tracker.removeObserver(times);
        tracker.removeModelObserver(workers);
        tracker.removeModelObserver(headroom);
        if (ownViews != null) {
            tracker.removeModelObserver(ownViews);
            ownViews.close();
        }
        budgets.forEach(NetworkBudget::close);
        PlannedReuse planned = reuse;
        if (planned != null) {
            planned.close();
        }
        SizedReuse sized = sizing;
        if (sized != null) {
            sized.close();
        }
        GarbageRelease release = garbage;
        if (release != null) {
            release.close();
        }
        CudnnLayers layers = cudnn;
        if (layers != null) {
            layers.close();
        }
        TrainingSteps its = steps;
        if (its != null) {
            its.close();
        }
        MemoryService serving = service;
        if (serving != null) {
            serving.close();
        }
        AllocationLimit limited = limit;
        if (limited != null) {
            limited.close();
        }
        MemoryHooks.stopMeasuringTemporaries();
        MemoryHooks.stopRecordingUses();
        if (tracker.isIdle()) {
            tracker.close();
            MemoryHooks.uninstall();
        }
    }

    private List<Model> models() {
        synchronized (Session.class) {
            return handles.stream()
                    .map(WeakReference::get)
                    .filter(Objects::nonNull)
                    .distinct()
                    .toList();
        }
    }

    /** Whoever calls {@code setListeners} after attaching takes ours out without knowing. */
    private List<String> replacedListeners() {
        synchronized (Session.class) {
            return models().stream()
                    .filter(model ->
                            NetworkAccess.listeners(model).stream().noneMatch(MemoryListener.class::isInstance))
                    .map(model -> tracker.track(model)
                            + " has lost its MemoryListener to setListeners: iterations since then are not counted, and"
                            + " figures per iteration are too large. Use addListeners, or attach after setListeners.")
                    .toList();
        }
    }

    private long figure(ToLongFunction<ArenaFigures> which) {
        PlannedReuse planned = reuse;
        SizedReuse sized = sizing;
        return (planned == null ? 0 : which.applyAsLong(planned.figures()))
                + (sized == null ? 0 : which.applyAsLong(sized.figures()));
    }

    private RecorderFigures recorderFigures() {
        return new RecorderFigures() {
            @Override
            public long lostEvents() {
                return traces.stream().mapToLong(TraceWriter::lostEvents).sum();
            }

            @Override
            public long memoryBytes() {
                return history == null ? 0 : history.memoryBytes();
            }

            @Override
            public long releasedBytes() {
                return Session.this.releasedBytes();
            }

            @Override
            public long plannedPasses() {
                PlannedReuse planned = reuse;
                return planned == null ? 0 : planned.servedPasses();
            }

            @Override
            public long missedPasses() {
                PlannedReuse planned = reuse;
                return planned == null ? 0 : planned.missedPasses();
            }

            @Override
            public long sizedPasses() {
                return figure(ArenaFigures::sizedRegions);
            }

            @Override
            public long arenaResizes() {
                return figure(ArenaFigures::resizes);
            }

            @Override
            public long trimmedBytes() {
                return figure(ArenaFigures::trimmedBytes);
            }

            @Override
            public long idleBytes() {
                return figure(ArenaFigures::idleBytes);
            }

            @Override
            public long poolReservedBytes() {
                return pool().reservedBytes();
            }

            @Override
            public long poolLiveBytes() {
                return pool().liveBytes();
            }

            @Override
            public long poolDriverCalls() {
                return pool().calls().total();
            }

            @Override
            public Map<String, Long> deviceMemory() {
                return accounts == null ? Map.of() : Session.this.deviceMemory().parts();
            }

            @Override
            public long offloadLate() {
                return DeviceCopies.figures().late();
            }

            @Override
            public double offloadWaitedSeconds() {
                return DeviceCopies.figures().waitedNanos() / 1e9;
            }

            @Override
            public long mirrorBytes() {
                MemoryService serving = service;
                return serving == null ? 0 : serving.mirrorBytes();
            }

            @Override
            public long headroomBytes() {
                return headroom.headroomBytes();
            }

            @Override
            public double iterationsLeft() {
                return headroom.iterationsLeft();
            }

            @Override
            public long recoveries() {
                return guards.stream().mapToLong(MemoryGuard::recoveries).sum();
            }

            @Override
            public Map<String, Long> extraPasses() {
                Map<ExtraPass, Long> known = times.extraPasses();
                return Arrays.stream(ExtraPass.values())
                        .collect(Collectors.toMap(
                                kind -> kind.name().toLowerCase(Locale.ROOT), kind -> known.getOrDefault(kind, 0L)));
            }

            @Override
            public PrefetchFigures prefetch() {
                PrefetchStatistics all = PrefetchTotals.now();
                return new PrefetchFigures(
                        all.batches(), all.preparationNanos(), all.waits(), all.waitNanos(), all.aheadBytes());
            }

            @Override
            public int leakedPrefetchers() {
                return Prefetchers.abandoned(ledger, ABANDONED_SECONDS).size();
            }
        };
    }

    private static List<MemorySummary.OperationRow> rows(NativeTemporaries probe) {
        return probe.peaks().stream()
                .map(peak -> new MemorySummary.OperationRow(peak.operation(), peak.calls(), peak.peakBytes()))
                .toList();
    }

    private static int powerOfTwo(int atLeast) {
        return Math.max(1, Integer.highestOneBit(Math.max(1, 2 * atLeast - 1)));
    }

    private static String describe(Model model) {
        int layers = model instanceof MultiLayerNetwork network
                ? network.getnLayers()
                : ((ComputationGraph) model).getNumLayers();
        return model.getClass().getSimpleName() + ", " + Count.of(layers, "layer") + ", "
                + Count.of(model.numParams(), "parameter");
    }
}
