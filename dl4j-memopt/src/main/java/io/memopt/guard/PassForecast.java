// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.allocator.event.Category;
import io.memopt.fit.LargestBatch;
import io.memopt.fit.MemoryForecast;
import io.memopt.fit.Part;
import io.memopt.fit.Recorded;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalInt;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an iteration takes beyond the network and its minibatch, for any number of examples: from a trial of a copy with a few of
 * them. The latest forecast is kept. Threading: confined.
 */
final class PassForecast {
    private static final Logger log = LoggerFactory.getLogger(PassForecast.class);

    private String known = "";
    private Optional<MemoryForecast> forecast = Optional.empty();

    /** Learns data shaped as {@code data}; false when no forecast can be had, e.g. because the trial itself finds no memory. */
    boolean learn(Model model, MultiDataSet data) {
        String shapes = System.identityHashCode(model) + shapes(data);
        if (!shapes.equals(known)) {
            known = shapes;
            forecast = trial(model, data);
        }
        return forecast.isPresent();
    }

    private static Optional<MemoryForecast> trial(Model model, MultiDataSet data) {
        try {
            return Optional.of(Recorded.forecast(model, data));
        } catch (RuntimeException | OutOfMemoryError e) {
            log.debug("No forecast for {}", shapes(data), e);
            return Optional.empty();
        }
    }

    /** Bytes at the fullest moment of an iteration with new workspaces, without parameters, gradients, updater state and input. */
    long bytes(int examples) {
        return forecast.orElseThrow().at(examples).peak().parts().stream()
                .filter(part -> comesAndGoes(part.category()))
                .mapToLong(Part::bytes)
                .sum();
    }

    private static boolean comesAndGoes(Category category) {
        return switch (category) {
            case PARAMETERS, GRADIENTS, UPDATER_STATE, INPUT -> false;
            default -> true;
        };
    }

    /** Most examples up to {@code most} that take at most {@code roomBytes}; empty when not even one does. */
    OptionalInt largest(int most, long roomBytes) {
        int fits = LargestBatch.of(most, examples -> bytes(examples) <= roomBytes);
        return fits == 0 ? OptionalInt.empty() : OptionalInt.of(fits);
    }

    private static String shapes(MultiDataSet data) {
        StringBuilder shapes = new StringBuilder();
        Arrays.stream(data.getFeatures())
                .forEach(array -> shapes.append(Arrays.toString(Arrays.copyOfRange(array.shape(), 1, array.rank()))));
        return shapes.toString();
    }
}
