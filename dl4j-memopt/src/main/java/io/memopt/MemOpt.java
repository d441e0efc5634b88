// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.nd4j.HookException;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.nd4j.Settings;
import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.allocator.pool.DeviceReconciliation;
import io.memopt.allocator.pool.PoolStatistics;
import io.memopt.allocator.recording.TraceOptions;
import io.memopt.allocator.recording.TraceWriter;
import io.memopt.allocator.use.ScopeFinding;
import io.memopt.fit.Derived;
import io.memopt.fit.MemoryForecast;
import io.memopt.fit.Recorded;
import io.memopt.guard.EarlyWarning;
import io.memopt.guard.GuardOptions;
import io.memopt.guard.ReportFiles;
import io.memopt.listeners.prometheus.MetricsServer;
import io.memopt.listeners.prometheus.MetricsServerException;
import io.memopt.oom.Exhaustion;
import io.memopt.oom.PostMortem;
import io.memopt.report.MemorySummary;
import io.memopt.strategy.DeviceMemory;
import io.memopt.strategy.HostMirrors;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.budget.BudgetCheck;
import io.memopt.strategy.budget.BudgetReport;
import io.memopt.strategy.cudnn.ConvolutionReport;
import io.memopt.strategy.step.StepOptions;
import io.memopt.strategy.step.TrainingSteps;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory of a Deeplearning4j network, observed. One line is enough:
 *
 * <pre>{@code
 * MemOpt memopt = MemOpt.attach(net);
 * net.fit(data, epochs);
 * System.out.println(memopt.summary());
 * }</pre>
 *
 * <p>Results do not change by one bit, unless {@link MemOptConfig#convolutions} asks for another library or
 * {@link MemOptConfig#step} for sums of parts. Nothing here stops a training run: where something cannot be observed a warning
 * says why, and those figures are missing. Only wrong arguments throw.
 *
 * <p>Figures are of the whole process; a network's own are told apart by its {@link #name()}. Holds the network weakly.
 *
 * <p>A handle that is not {@linkplain #isActive() active} answers with what there is, {@link #summary()} above all. What would act,
 * {@code rehearse}, {@code applyGathered}, {@code onEarlyWarning}, {@code postMortem}, {@code bindTo}, {@code serveMetrics} and
 * {@code trimDeviceMemory}, then does nothing; after {@link #close()} a warning says so.
 *
 * <p>Threading: all methods may be called from any thread.
 */
public final class MemOpt implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(MemOpt.class);

    private final @Nullable Session session;
    private final WeakReference<Model> model;
    private final String name;
    private final @Nullable TraceWriter trace;
    private final ReportFiles postMortems;
    private final List<MetricsServer> servers = new ArrayList<>();
    private volatile boolean closed;

    private MemOpt(
            @Nullable Session session,
            WeakReference<Model> model,
            String name,
            @Nullable TraceWriter trace,
            ReportFiles postMortems) {
        this.postMortems = postMortems;
        this.session = session;
        this.model = model;
        this.name = name;
        this.trace = trace;
    }

    /** As {@link #attach(Model, MemOptConfig)} with {@link MemOptConfig#defaults()}. */
    public static MemOpt attach(Model network) {
        return attach(network, MemOptConfig.defaults());
    }

    /**
     * Observes {@code network} from now on. May be called before or after training began, and again: every call gives a
     * handle of its own, and observation ends with the last of them. What a handle began holds until then: plans for all networks,
     * a step of its own for its network.
     *
     * @param network an initialised MultiLayerNetwork or ComputationGraph
     * @throws IllegalArgumentException if it is neither, or not initialised, or cannot be trained as {@link MemOptConfig#step} says, or
     *     an earlier handle has another step, guard or budget for it
     */
    public static MemOpt attach(Model network, MemOptConfig config) {
        Objects.requireNonNull(config, "config");
        if (!(network instanceof MultiLayerNetwork || network instanceof ComputationGraph)) {
            throw new IllegalArgumentException(
                    "network=" + (network == null ? null : network.getClass().getName())
                            + ", expected a MultiLayerNetwork or a ComputationGraph");
        }
        Settings.check();
        if (config.budget().isSet()) {
            BudgetCheck.check(network, config.budget(), config.step());
        } else {
            TrainingSteps.check(network, config.step());
        }
        Session.checkStep(network, config);
        if (!config.enabled() || !Settings.enabled()) {
            return inactive(network, config);
        }
        try {
            WeakReference<Model> handle = new WeakReference<>(network);
            Session session = Session.join(network, handle, config);
            if (config.nativeTemporaries()) {
                MemoryHooks.measureTemporaries();
            }
            if (config.recordUses() || config.scopeCheck()) {
                session.recordUses(config.scopeCheck());
            }
            if (config.deviceMemory() != DeviceMemory.PLAIN || config.hostMirrors() != HostMirrors.PINNED) {
                session.serveMemory(config);
            }
            if (config.reuse() != Reuse.OFF) {
                session.releaseGarbage();
            }
            if (config.convolutions().cudnn()) {
                session.useCudnn(network, config.convolutions());
            }
            if (config.reuse() == Reuse.SIZED) {
                session.sizeReuse(config.planProfile().orElse(null), config.arenas());
            }
            if (config.reuse() == Reuse.PLANNED) {
                session.planReuse(config.planProfile().orElse(null), config.arenas(), config.planPoison());
            }
            if (config.guard().limitBytes() != GuardOptions.NO_LIMIT) {
                session.limit(config.guard().limitBytes());
            }
            boolean steps = !config.step().equals(StepOptions.PLAIN)
                    || config.guard().mode().guards();
            if (config.guard().mode().guards() && network instanceof ComputationGraph graph) {
                session.makeGradients(graph);
            }
            if (config.budget().isSet()) {
                session.keepBudget(network, config);
            } else if (steps) {
                session.controlStep(network, config.step(), config.guard());
            }
            TraceWriter trace =
                    config.trace().map(path -> open(path, config, session)).orElse(null);
            return new MemOpt(session, handle, session.nameOf(network), trace, filesOf(config));
        } catch (HookException e) {
            log.warn("{} Training goes on without memory figures.", e.getMessage());
            return inactive(network, config);
        }
    }

    /**
     * Why memory ran out: the limit that was met, who holds how much, what to do. Ask where the failure was caught, while
     * what was held is still held. Needs no handle: recording begins with ND4J's start.
     *
     * @param failure what was caught; its causes are looked at, too
     * @return several lines of text, which say so when the failure is not about memory or nothing was recorded
     */
    public static String explain(Throwable failure) {
        Objects.requireNonNull(failure, "failure");
        return MemoryHooks.installed()
                ? Explanation.of(failure, MemoryHooks.recording().ledger())
                : "Nothing was recorded, so nobody can say who holds memory: " + failure;
    }

    /**
     * Why memory ran out in training or inference of this network: what was asked for, by which layer, what was held at that moment,
     * the class of the cause, and what to do, with the largest batch that is predicted to fit. Ask on the thread that failed, where
     * the failure was caught. Runs a copy of the network with a few examples, as {@link #willItFit(Model, MultiDataSet)} does. Also
     * written to {@link MemOptConfig.Builder#postMortems}, the first {@value io.memopt.guard.ReportFiles#MOST} of a process.
     *
     * @return empty when the failure is not about memory, or nothing is observed any more
     */
    public Optional<PostMortem> postMortem(Throwable failure) {
        Objects.requireNonNull(failure, "failure");
        return Exhaustion.of(failure) == Exhaustion.NONE || session == null || !acts("postMortem")
                ? Optional.empty()
                : Optional.of(session.postMortem(failure, Optional.ofNullable(model.get()), postMortems));
    }

    /**
     * {@code listener} hears when memory is going to run out: what is held at the ends of iterations grows, and the nearest limit is
     * less than 200 iterations away. On the training thread, once for each stretch of growth.
     */
    public void onEarlyWarning(Consumer<EarlyWarning> listener) {
        Objects.requireNonNull(listener, "listener");
        if (session != null && acts("onEarlyWarning")) {
            session.headroom().addListener(listener);
        }
    }

    /**
     * How much memory training and inference of {@code network} will take at any batch size, which layer needs most, and
     * the largest batch that fits. Runs a copy of it with batches of up to five items; the network is only read. Needs no
     * handle, and for the time of the trial once more the memory of the network's parameters, gradients and updater state;
     * figures of attached networks contain the copy meanwhile. Do not train at the same time: the state of ND4J's random
     * generator is put back afterwards.
     *
     * @param network an initialised MultiLayerNetwork or ComputationGraph
     * @param inputs one for each input of the network, all dimensions known, e.g. {@code InputType.recurrent(8, 40)}; labels
     *     are taken to be shaped as the outputs
     * @throws IllegalArgumentException if the network is not initialised or cannot be trained with such data
     */
    public static MemoryForecast willItFit(Model network, InputType... inputs) {
        return Recorded.forecast(network, inputs);
    }

    /**
     * As {@link #willItFit(Model, InputType...)} for data shaped as {@code example}, masks included. Only shapes and types of
     * its arrays are read; its batch does not matter.
     */
    public static MemoryForecast willItFit(Model network, MultiDataSet example) {
        return Recorded.forecast(network, example);
    }

    /**
     * An estimate for training from the configuration alone: makes no network and allocates nothing, so it may be asked
     * anywhere. Prefer {@link #willItFit(Model, InputType...)} where the network fits.
     *
     * @throws IllegalArgumentException if a dimension of {@code input} is not known
     */
    public static MemoryForecast willItFit(MultiLayerConfiguration configuration, InputType input) {
        return Derived.forecast(configuration, input);
    }

    /** As {@link #willItFit(MultiLayerConfiguration, InputType)} for a graph; one input type for each of its inputs. */
    public static MemoryForecast willItFit(ComputationGraphConfiguration configuration, InputType... inputs) {
        return Derived.forecast(configuration, inputs);
    }

    /**
     * Prepares plans, or sizes, for every batch size from the first three examples of {@code sample}, so that the first
     * minibatch already runs in the arena. Call it on the thread that will train; with sequences of several lengths, give the
     * longest. The network is afterwards what it was, bit for bit. A budget is decided for minibatches of the size of this one.
     * Does nothing, with a warning, when there is no budget and {@link MemOptConfig#reuse} asked neither for {@link Reuse#PLANNED}
     * nor for {@link Reuse#SIZED}, in this handle or in an earlier one.
     *
     * @param sample a minibatch of at least three examples, as training will have it
     * @throws IllegalArgumentException if there are fewer, or the network is trained by truncated backpropagation through time
     * @throws io.memopt.strategy.budget.BudgetException if no way to train fits the budget
     */
    public void rehearse(MultiDataSet sample) {
        Model network = model.get();
        if (session != null && network != null && acts("rehearse")) {
            session.rehearse(network, sample);
        }
    }

    /** As {@link #rehearse(MultiDataSet)}. */
    public void rehearse(DataSet sample) {
        rehearse(sample.toMultiDataSet());
    }

    /**
     * Updates the network with the gradients that {@link MemOptConfig.Builder#accumulate} gathered since its last update, as one
     * iteration; does nothing when there are none. For the end of training, when minibatches do not come out even. Call it on the
     * training thread, between calls of {@code fit}.
     */
    public void applyGathered() {
        Model network = model.get();
        if (session != null && network != null && acts("applyGathered")) {
            session.applyGathered(network);
        }
    }

    /**
     * What was decided for the budget, what else there was, and what came of it; empty without a budget, until {@link #rehearse} or
     * the first minibatch has decided, and once the network's last handle is closed; {@link #summary()} has it still.
     */
    public Optional<BudgetReport> budget() {
        Model network = model.get();
        return session == null || network == null ? Optional.empty() : session.budget(network);
    }

    /** Plans of passes so far, on all threads; empty unless {@link MemOptConfig#reuse} asked for them. */
    public List<PlanRow> plans() {
        return session == null ? List.of() : session.plans();
    }

    /**
     * Gives back the device memory that the pools hold and no array uses, after a wait for the device. Worth a call when
     * training has found its sizes, or before something else needs the device. Does nothing unless
     * {@link MemOptConfig#deviceMemory} asked for a pool.
     */
    public void trimDeviceMemory() {
        if (session != null && acts("trimDeviceMemory")) {
            session.trimDeviceMemory();
        }
    }

    /**
     * On CUDA, has threads whose workspaces lie in arenas wait for the device whenever a workspace is left, as plain Deeplearning4j does
     * some hundred times in a step of a deep network; without, as it begins, they wait when the outermost one is left. Results are the
     * same. With {@code true} times of layers and phases are the device's, not those of a host that runs ahead of it. No effect without arenas
     * ({@link Reuse#PLANNED}, {@link Reuse#SIZED}). Any thread, any time; for all networks of the process.
     */
    public void waitForScopes(boolean wait) {
        WorkspaceReuse reuse = session == null || !acts("waitForScopes")
                ? null
                : MemoryHooks.recording().reuse();
        if (reuse != null) {
            reuse.waitForScopes(wait);
        }
    }

    /** Figures of the device memory pools of the process; zeros unless {@link MemOptConfig#deviceMemory} asked for them. */
    public PoolStatistics devicePool() {
        return session == null ? PoolStatistics.NONE : session.pool();
    }

    /**
     * The driver's figure of device memory, taken apart: arrays, pools, the context, libraries, other processes and what is left.
     * Only zeros without CUDA.
     */
    public DeviceReconciliation deviceMemory() {
        return session == null ? DeviceReconciliation.NONE : session.deviceMemory();
    }

    /** How cuDNN computes the network's convolutions; empty unless {@link MemOptConfig#convolutions} asked for it and it is there. */
    public Optional<ConvolutionReport> convolutions() {
        Model network = model.get();
        return session == null || network == null ? Optional.empty() : session.convolutions(network);
    }

    /** Name of the network in figures, e.g. {@code MultiLayerNetwork-1}; empty when nothing is observed. */
    public String name() {
        return name;
    }

    /** False when observation was switched off, could not begin, or has ended. */
    public synchronized boolean isActive() {
        return session != null && !closed;
    }

    /** Where the memory of this process is and was. Can still be asked for after {@link #close()}. */
    public MemorySummary summary() {
        return session == null ? MemorySummary.none() : session.summary();
    }

    /** The latest events of the process, oldest first; a copy. Empty when {@link MemOptConfig#history()} is 0. */
    public List<MemoryEvent> recentEvents() {
        return session == null ? List.of() : session.recentEvents();
    }

    /**
     * Arrays of the process that were used after their scope, most frequent first; can still be asked for after
     * {@link #close()}. Empty unless {@link MemOptConfig#scopeCheck()} is set.
     */
    public List<ScopeFinding> scopeFindings() {
        return session == null ? List.of() : session.scopeFindings();
    }

    /**
     * Adds all meters to {@code registry}; they go when the last handle is closed.
     *
     * @return this
     */
    public MemOpt bindTo(MeterRegistry registry) {
        if (session != null && acts("bindTo")) {
            session.metrics().bindTo(registry);
        }
        return this;
    }

    /**
     * Serves metrics for Prometheus at {@code http://127.0.0.1:port/metrics}.
     *
     * @param port 0 to 65535; 0 takes any free one
     * @return the server, which ends with this handle unless it is closed before; empty when the port is taken, which is
     *     only warned of, or when nothing is observed
     * @throws IllegalArgumentException if {@code port} is out of range
     */
    public synchronized Optional<MetricsServer> serveMetrics(int port) {
        if (port < 0 || port > 65535) {
            throw new IllegalArgumentException("port=" + port + ", expected 0..65535");
        }
        if (session == null || !acts("serveMetrics")) {
            return Optional.empty();
        }
        try {
            MetricsServer server = MetricsServer.start(session.metrics(), port);
            servers.add(server);
            return Optional.of(server);
        } catch (MetricsServerException e) {
            log.warn("{} Training goes on without a metrics endpoint.", e.getMessage());
            return Optional.empty();
        }
    }

    /** Ends this handle: its endpoints are closed, the trace is complete, and unless other handles remain the network and ND4J are as before. */
    @Override
    public synchronized void close() {
        if (session == null || closed) {
            return;
        }
        closed = true;
        servers.forEach(MetricsServer::close);
        if (trace != null) {
            session.removeTrace(trace);
        }
        session.leave(model);
    }

    /** Whether {@code call} may act; warns when the handle was closed. */
    private boolean acts(String call) {
        if (closed) {
            log.warn(
                    "{}() does nothing: this handle of {} is closed. Call it before close(), or attach again.",
                    call,
                    name);
        }
        return !closed;
    }

    /** The same as {@link #close()}. */
    public void detach() {
        close();
    }

    private static MemOpt inactive(Model network, MemOptConfig config) {
        return new MemOpt(null, new WeakReference<>(network), "", null, filesOf(config));
    }

    private static ReportFiles filesOf(MemOptConfig config) {
        return ReportFiles.in(config.guard().reports());
    }

    private static @Nullable TraceWriter open(Path path, MemOptConfig config, Session session) {
        try {
            TraceOptions options = TraceOptions.DEFAULTS
                    .withMaxBytes(config.traceMaxBytes())
                    .withProperty("dl4jVersion", Nd4jFacts.version())
                    .withProperty("backend", Nd4jFacts.backend());
            TraceWriter writer = new TraceWriter(path, session.ledger(), options);
            session.addTrace(writer);
            return writer;
        } catch (IOException e) {
            log.warn("{} Training goes on without a trace.", e.getMessage());
            return null;
        }
    }
}
