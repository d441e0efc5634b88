// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Tells what an optimisation does to the results, the memory and the time of one's own training, from one copied state:
 *
 * <pre>{@code
 * MemOptConfig config = MemOptConfig.builder().budget("200 MiB").build();
 * Verification result = VerifyRun.of(net, i -> batch(i)).iterations(20).compare(model -> MemOpt.attach(model, config));
 * System.out.println(result);
 * result.requireBitwise().requirePeakAtMost("60 %");
 * }</pre>
 *
 * <p>Plain training comes first and twice, so that what does not repeat itself anyway is not blamed on what is put on trial: once with
 * nobody recording, for the cost of that, and once recorded, as the optimised run is. Data of an iteration are made before it is timed.
 *
 * <p>Threading: one thread. ND4J's random generator is seeded; workspaces of the calling thread are destroyed, and garbage is collected,
 * between runs. Other work of the process falsifies peaks and times. Memory: 8 bytes for each parameter and updater state of three runs.
 */
public final class VerifyRun {
    private static final int DEFAULT_ITERATIONS = 10;
    private static final int MIN_ITERATIONS = 4;
    private static final double NANOS_PER_MILLI = 1e6;
    /** Iterations in which workspaces find their sizes and plans are made. */
    private static final int UNTIMED = 3;

    private final Supplier<? extends Model> networks;
    private final IntFunction<DataSet> data;
    private final StartState start = new StartState();
    private int iterations = DEFAULT_ITERATIONS;
    private long seed = 7;

    private VerifyRun(Supplier<? extends Model> networks, IntFunction<DataSet> data) {
        this.networks = Objects.requireNonNull(networks, "networks");
        this.data = Objects.requireNonNull(data, "data");
    }

    /**
     * Of copies of {@code network}, with its parameters and updater state and without its listeners; it is only read.
     *
     * @param data the minibatch of an iteration, counted from 0; equal for equal numbers
     */
    public static VerifyRun of(Model network, IntFunction<DataSet> data) {
        Models.check(network);
        return new VerifyRun(() -> Models.copy(network), data);
    }

    /** Of networks that {@code networks} makes anew for each run, all of the same shape; they begin in the state of the first. */
    public static VerifyRun of(Supplier<? extends Model> networks, IntFunction<DataSet> data) {
        return new VerifyRun(networks, data);
    }

    /** Length of each run, at least 4; 10 by default. Differences grow with it. */
    public VerifyRun iterations(int count) {
        if (count < MIN_ITERATIONS) {
            throw new IllegalArgumentException("iterations=" + count + ", expected at least " + MIN_ITERATIONS);
        }
        iterations = count;
        return this;
    }

    /** Seed of ND4J's random generator at the begin of each run. */
    public VerifyRun seed(long value) {
        seed = value;
        return this;
    }

    /**
     * Trains three times and compares.
     *
     * @throws IllegalStateException if an iteration or the attachment fails, with its cause, or if plain training changes no parameter
     */
    public Verification compare(Attachment optimisation) {
        Objects.requireNonNull(optimisation, "optimisation");
        try {
            Run bare = run("The unrecorded run", model -> () -> {}, false);
            if (bare.state.hasParameters(start.parameters())) {
                throw new IllegalStateException("No parameter changed in " + Count.of(iterations, "iteration")
                        + ", so there is nothing to compare; train.");
            }
            Run plain = run("The plain run", ObservedNetwork::new, true);
            Run optimised = run("The optimised run", optimisation, true);
            TwinResult twin =
                    new TwinResult(iterations, plain.state.minus(bare.state), optimised.state.minus(bare.state));
            return new Verification(
                    environment(optimised.model),
                    twin,
                    optimised.state.blocks(bare.state, optimised.model),
                    bare.cost,
                    plain.cost,
                    optimised.cost);
        } finally {
            start.close();
        }
    }

    private record Run(Model model, TrainingState state, RunCost cost) {}

    private Run run(String name, Attachment attachment, boolean recorded) {
        Models.destroyClosedWorkspaces();
        if (!recorded) {
            MemoryHooks.uninstall();
            return trained(name, begun(), attachment, () -> 0L);
        }
        MemoryLedger ledger = MemoryHooks.install().ledger();
        Model model = begun(); // with hooks, so that its parameters are known
        HeldMemory.after(ledger, System.nanoTime());
        MemorySpace space = Nd4jFacts.isCuda() ? MemorySpace.DEVICE : MemorySpace.HOST;
        long before = ledger.reservedBytes(space) - Models.parameterBytes(model);
        try (PeakWindow window = ledger.openPeakWindow()) {
            return trained(name, model, attachment, () -> window.take().reservedBytes(space) - before);
        }
    }

    private Model begun() {
        Model model = Models.check(networks.get());
        start.give(model);
        return model;
    }

    private Run trained(String name, Model model, Attachment attachment, Supplier<Long> peak) {
        double[] scores = new double[iterations];
        long[] nanos = new long[iterations];
        int iteration = -1;
        try (AutoCloseable attached = attachment.attach(model)) {
            Nd4j.getRandom().setSeed(seed);
            for (iteration = 0; iteration < iterations; iteration++) {
                DataSet batch = data.apply(iteration);
                long begun = System.nanoTime();
                Models.fit(model, batch);
                nanos[iteration] = System.nanoTime() - begun;
                scores[iteration] = model.score();
            }
            RunCost cost = cost(peak.get(), nanos); // before the state is copied, which takes memory too
            return new Run(model, TrainingState.of(model, scores), cost);
        } catch (Exception e) {
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            String when = iteration < 0 ? "before its first iteration" : "in iteration " + iteration;
            throw new IllegalStateException(name + " failed " + when + ": " + e, e);
        }
    }

    private static RunCost cost(long peak, long[] nanos) {
        long[] sorted = Arrays.copyOfRange(nanos, Math.min(UNTIMED, nanos.length / 2), nanos.length);
        Arrays.sort(sorted);
        int count = sorted.length;
        return new RunCost(
                peak,
                sorted[count / 2] / NANOS_PER_MILLI,
                sorted[count / 4] / NANOS_PER_MILLI,
                sorted[Math.min(count - 1, 3 * count / 4)] / NANOS_PER_MILLI);
    }

    private Map<String, String> environment(Model model) {
        DataSet first = data.apply(0);
        Map<String, String> facts = new TreeMap<>();
        facts.put("hardware", Hardware.describe());
        facts.put("java", System.getProperty("java.vm.name") + " " + System.getProperty("java.version"));
        facts.put("nd4j", Nd4jFacts.version() + ", " + Nd4jFacts.backend());
        facts.put("network", Models.describe(model));
        facts.put("batch", String.valueOf(first.getFeatures().size(0)));
        facts.put("features", Arrays.toString(first.getFeatures().shape()));
        facts.put("iterations", String.valueOf(iterations));
        return facts;
    }
}
