// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TrainingObserver;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Takes the times of training and shows them as timers: iterations with a histogram, phases without. Works with any number
 * of registries, none included: {@link #networks()} counts from the start, the timers of a registry from its binding.
 *
 * <p>Networks appear with their first report or {@link #networkAttached}, and disappear with {@link #networkRemoved};
 * reports for a removed name attach it anew. Beyond {@value #MAX_NETWORKS} networks, later ones share the label
 * {@code other}; its iteration and epoch are the largest of them.
 *
 * <p>Threading: any thread; about a microsecond a report.
 */
public final class TrainingTimers extends PassBinder implements TrainingFigures, TrainingObserver {
    /** Networks with a label of their own. */
    public static final int MAX_NETWORKS = 16;

    /** Label of what belongs to no network. */
    static final String NONE = "none";

    private static final Phase[] PHASES = Phase.values();

    /** Removed names that are remembered; older ones are forgotten. */
    private static final int MAX_REMOVED = 1024;

    /** Six steps a decade, 1 ms to 1 min: quantiles within a quarter of the value, at 31 series a network. */
    private static final Duration[] BUCKETS = buckets();

    private final BoundedNames labels = new BoundedNames(MAX_NETWORKS);
    private final Map<String, State> networks = new LinkedHashMap<>();
    private final Map<String, Boolean> removed = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
            return size() > MAX_REMOVED;
        }
    };
    /**
     * Held while a report is booked and timed, so that a removed network's timers do not come back. Not the monitor of this
     * object: a registry that reads gauges while it registers a timer takes that one.
     */
    private final Object reports = new Object();

    private final Bindings<Timers> timers = new Bindings<>();

    public TrainingTimers() {
        this(System::nanoTime);
    }

    TrainingTimers(LongSupplier clock) {
        super(clock);
    }

    private static final class State {
        long iteration = -1;
        long epoch = -1;
        NetworkFigures.Durations iterations = NetworkFigures.Durations.NONE;
        /** By ordinal. */
        final NetworkFigures.Durations[] phases = new NetworkFigures.Durations[PHASES.length];

        State() {
            Arrays.fill(phases, NetworkFigures.Durations.NONE);
        }

        Map<Phase, NetworkFigures.Durations> byPhase() {
            Map<Phase, NetworkFigures.Durations> known = new EnumMap<>(Phase.class);
            for (Phase phase : PHASES) {
                if (phases[phase.ordinal()].count() > 0) {
                    known.put(phase, phases[phase.ordinal()]);
                }
            }
            return known;
        }
    }

    // ---- what the training listener reports

    /** A network exists, though it may not have trained yet. */
    @Override
    public synchronized void networkAttached(String network) {
        stateOf(network);
    }

    /**
     * A training iteration ended.
     *
     * @param iteration its number
     * @param epoch the epoch that it belongs to
     * @param nanos its duration; a negative one counts as 0
     */
    @Override
    public void iterationEnded(String network, long iteration, long epoch, long nanos) {
        long duration = Math.max(0, nanos);
        synchronized (reports) {
            String label = booked(network, state -> {
                state.iteration = iteration;
                state.epoch = epoch;
                state.iterations = state.iterations.plus(duration);
            });
            for (Timers each : timers.all()) {
                each.iteration(label, duration);
            }
        }
    }

    /**
     * A phase ended, or one of several parts of it.
     *
     * @param nanos its duration; a negative one counts as 0
     */
    @Override
    public void phaseEnded(String network, Phase phase, long nanos) {
        long duration = Math.max(0, nanos);
        synchronized (reports) {
            int index = phase.ordinal();
            String label = booked(network, state -> state.phases[index] = state.phases[index].plus(duration));
            for (Timers each : timers.all()) {
                each.phase(label, phase, duration);
            }
        }
    }

    /** The network is gone or no longer observed: its meters are removed. Unknown names are ignored. */
    @Override
    public void networkRemoved(String network) {
        synchronized (reports) {
            if (forgotten(network)) {
                timers.all().forEach(t -> t.remove(network));
            }
        }
    }

    // ---- what readers ask

    @Override
    public synchronized List<NetworkFigures> networks() {
        List<NetworkFigures> all = new ArrayList<>();
        networks.forEach(
                (name, s) -> all.add(new NetworkFigures(name, s.iteration, s.epoch, s.iterations, s.byPhase())));
        return Collections.unmodifiableList(all);
    }

    @Override
    public synchronized boolean isRemoved(String network) {
        return removed.containsKey(network);
    }

    @Override
    public synchronized String labelOf(String network) {
        if (network.isEmpty()) {
            return NONE;
        }
        boolean shared = removed.containsKey(network) || Owner.isTrial(network);
        return shared ? BoundedNames.OTHER : labels.labelOf(network);
    }

    // ---- meters

    @Override
    public void bindTo(MeterRegistry registry) {
        timers.add(registry, Timers::new);
        super.bindTo(registry);
    }

    @Override
    public void unbind(MeterRegistry registry) {
        super.unbind(registry);
        timers.remove(registry).ifPresent(Timers::close);
    }

    @Override
    public void close() {
        super.close();
        timers.removeAll().forEach(Timers::close);
    }

    @Override
    Source open() {
        return this::collect;
    }

    private void collect(Rows rows) {
        List<NetworkFigures> all = networks();
        rows.put(Metric.NETWORKS, all.size());
        for (NetworkFigures network : all) {
            String label = labelOf(network.name());
            if (network.iteration() >= 0) {
                rows.max(Metric.ITERATION, network.iteration(), "network", label);
            }
            if (network.epoch() >= 0) {
                rows.max(Metric.EPOCH, network.epoch(), "network", label);
            }
        }
    }

    private synchronized String booked(String network, Consumer<State> change) {
        change.accept(stateOf(network));
        return labels.labelOf(network);
    }

    /** True when the network had a label, and so timers, of its own. */
    private synchronized boolean forgotten(String network) {
        networks.remove(network);
        removed.put(network, true);
        return labels.release(network);
    }

    private State stateOf(String network) {
        State known = networks.get(network);
        if (known == null) {
            removed.remove(network);
            known = new State();
            networks.put(network, known);
        }
        return known;
    }

    private static Duration[] buckets() {
        double[] steps = {1, 1.5, 2, 3, 5, 7};
        List<Duration> buckets = new ArrayList<>();
        for (long decade = 1; decade <= 10_000; decade *= 10) {
            for (double step : steps) {
                Duration bucket = Duration.ofNanos(Math.round(step * decade * 1e6));
                if (bucket.toSeconds() < 60) {
                    buckets.add(bucket);
                }
            }
        }
        buckets.add(Duration.ofMinutes(1));
        return buckets.toArray(Duration[]::new);
    }

    /** The timers of one registry. */
    private static final class Timers implements AutoCloseable {
        private final MeterRegistry registry;
        private final Map<String, Timer> iterations = new ConcurrentHashMap<>();
        private final Map<String, Map<Phase, Timer>> phases = new ConcurrentHashMap<>();

        Timers(MeterRegistry registry) {
            this.registry = registry;
        }

        void iteration(String label, long nanos) {
            iterations
                    .computeIfAbsent(
                            label,
                            l -> builder(Metric.ITERATION_SECONDS)
                                    .tag("network", l)
                                    .serviceLevelObjectives(BUCKETS)
                                    .register(registry))
                    .record(nanos, TimeUnit.NANOSECONDS);
        }

        void phase(String label, Phase phase, long nanos) {
            phases.computeIfAbsent(label, l -> new ConcurrentHashMap<>())
                    .computeIfAbsent(
                            phase,
                            p -> builder(Metric.PHASE)
                                    .tag("network", label)
                                    .tag("phase", p.name().toLowerCase(Locale.ROOT))
                                    .register(registry))
                    .record(nanos, TimeUnit.NANOSECONDS);
        }

        void remove(String label) {
            Timer iteration = iterations.remove(label);
            if (iteration != null) {
                registry.remove(iteration);
            }
            Map<Phase, Timer> byPhase = phases.remove(label);
            if (byPhase != null) {
                byPhase.values().forEach(registry::remove);
            }
        }

        @Override
        public void close() {
            List.copyOf(iterations.keySet()).forEach(this::remove);
            List.copyOf(phases.keySet()).forEach(this::remove);
        }

        private static Timer.Builder builder(Metric metric) {
            return Timer.builder(metric.meterName()).description(metric.description());
        }
    }
}
