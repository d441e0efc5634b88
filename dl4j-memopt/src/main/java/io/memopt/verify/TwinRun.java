// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.Count;
import java.util.Objects;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Trains the same network three times from the same state: plain, plain again, and with something attached.
 *
 * <pre>{@code
 * TwinResult result = TwinRun.of(() -> network(), i -> batch(i)).iterations(30).compare(MemOpt::attach);
 * result.requireBitwise();
 * }</pre>
 *
 * <p>The second plain run tells how far two runs are apart that should not be apart at all: an operation that sums in no
 * fixed order would otherwise be blamed on what is attached. Each run begins with the parameters, the updater state and the
 * random seed of the first one, whatever the supplied networks start from, and without workspaces of earlier runs on the
 * calling thread.
 *
 * <p>Threading: one thread. ND4J's random generator is seeded, which other threads that use it notice.
 */
public final class TwinRun {
    private static final int DEFAULT_ITERATIONS = 10;
    private static final long DEFAULT_SEED = 7;

    private final Supplier<? extends Model> networks;
    private final TrainingStep step;
    private int iterations = DEFAULT_ITERATIONS;
    private long seed = DEFAULT_SEED;
    private final StartState start = new StartState();

    private TwinRun(Supplier<? extends Model> networks, TrainingStep step) {
        this.networks = Objects.requireNonNull(networks, "networks");
        this.step = Objects.requireNonNull(step, "step");
    }

    /**
     * Of networks that {@code fit} one batch in each iteration.
     *
     * @param networks makes a new, initialised network of the same shape on each call
     * @param data the batch of an iteration, counted from 0; equal for equal numbers
     */
    public static TwinRun of(Supplier<? extends Model> networks, IntFunction<DataSet> data) {
        Objects.requireNonNull(data, "data");
        return new TwinRun(networks, (model, iteration) -> Models.fit(model, data.apply(iteration)));
    }

    /** Of networks that are trained by {@code step}, e.g. on several inputs. */
    public static TwinRun of(Supplier<? extends Model> networks, TrainingStep step) {
        return new TwinRun(networks, step);
    }

    /** Length of each run, at least 1; 10 by default. Differences grow with it. */
    public TwinRun iterations(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("iterations=" + count + ", expected at least 1");
        }
        iterations = count;
        return this;
    }

    /** Seed of ND4J's random generator at the begin of each run, for dropout and the like. */
    public TwinRun seed(long value) {
        seed = value;
        return this;
    }

    /**
     * Runs three times and compares. Takes as long as that.
     *
     * @throws IllegalArgumentException if the supplied networks are no initialised networks, or differ in shape
     * @throws IllegalStateException if an iteration or the attachment fails, with its cause; or if plain training changes no
     *     parameter
     */
    public TwinResult compare(Attachment attachment) {
        Objects.requireNonNull(attachment, "attachment");
        try {
            TrainingState plain = run("The first plain run", model -> () -> {});
            if (plain.hasParameters(start.parameters())) {
                throw new IllegalStateException("No parameter changed in " + Count.of(iterations, "iteration")
                        + ", so there is nothing to compare; train.");
            }
            TrainingState again = run("The second plain run", model -> () -> {});
            TrainingState attached = run("The run with the attachment", attachment);
            return new TwinResult(iterations, again.minus(plain), attached.minus(plain));
        } finally {
            start.close();
        }
    }

    private TrainingState run(String name, Attachment attachment) {
        Models.destroyClosedWorkspaces();
        Model model = Models.check(networks.get());
        start.give(model);
        double[] scores = new double[iterations];
        int iteration = -1;
        try (AutoCloseable attached = attachment.attach(model)) {
            Nd4j.getRandom().setSeed(seed);
            for (iteration = 0; iteration < iterations; iteration++) {
                step.run(model, iteration);
                scores[iteration] = model.score();
            }
            return TrainingState.of(model, scores);
        } catch (Exception e) {
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            String when = iteration < 0 ? "before its first iteration" : "in iteration " + iteration;
            throw new IllegalStateException(name + " failed " + when + ": " + e, e);
        }
    }
}
