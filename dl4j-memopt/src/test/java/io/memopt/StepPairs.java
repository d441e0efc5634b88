// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.analysis.ReferenceNetworks;
import io.memopt.testing.Networks;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.DataSet;

/**
 * Steps of a network, each right after one of the same network that is trained plain. Another thread trains that one, so that each has
 * workspaces of its own; the two never run at the same time. Milliseconds on the clock.
 */
final class StepPairs implements AutoCloseable {
    /** In which workspaces find their sizes. */
    private static final int UNTIMED = 3;

    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private final Model plain;
    private final DataSet data;

    StepPairs(ReferenceNetworks network, DataSet data) {
        this.plain = network.create();
        this.data = data;
        for (int i = 0; i < UNTIMED; i++) {
            plainStep();
        }
    }

    record Quartiles(double lower, double median, double upper) {
        private static Quartiles of(double[] millis) {
            double[] sorted = millis.clone();
            Arrays.sort(sorted);
            int last = sorted.length - 1;
            return new Quartiles(sorted[last / 4], sorted[sorted.length / 2], sorted[last - last / 4]);
        }

        @Override
        public String toString() {
            return String.format(Locale.ROOT, "%.1f (%.1f .. %.1f)", median, lower, upper);
        }
    }

    record Pair(Quartiles own, Quartiles plain) {}

    /** So many steps of plain training. */
    Quartiles plain(int steps) {
        double[] millis = new double[steps];
        for (int i = 0; i < steps; i++) {
            millis[i] = plainStep();
        }
        return Quartiles.of(millis);
    }

    /** So many steps of {@code model}, after some that do not count, and as many of plain training. */
    Pair beside(Model model, int steps) {
        double[] own = new double[steps];
        double[] plains = new double[steps];
        for (int i = -UNTIMED; i < steps; i++) {
            double plainMillis = plainStep();
            double millis = step(model);
            if (i >= 0) {
                plains[i] = plainMillis;
                own[i] = millis;
            }
        }
        return new Pair(Quartiles.of(own), Quartiles.of(plains));
    }

    private double plainStep() {
        try {
            return thread.submit(() -> step(plain)).get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the plain network was trained", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("the plain network cannot be trained", e.getCause());
        }
    }

    private double step(Model model) {
        long begun = System.nanoTime();
        Networks.fit(model, data);
        return (System.nanoTime() - begun) / 1e6;
    }

    @Override
    public void close() {
        thread.shutdown();
    }
}
