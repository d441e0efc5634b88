// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** What a binder keeps for each registry. Threading: safe; {@code T.close()} is called outside the lock. */
final class Bindings<T extends AutoCloseable> {
    private final Map<MeterRegistry, T> byRegistry = new HashMap<>();
    /** The values of the map: asked for with every phase of a training step. */
    private volatile List<T> all = List.of();

    /** Makes an entry unless there is one; the new entry, if any. */
    synchronized Optional<T> add(MeterRegistry registry, Function<MeterRegistry, T> factory) {
        if (byRegistry.containsKey(registry)) {
            return Optional.empty();
        }
        T made = factory.apply(registry);
        byRegistry.put(registry, made);
        all = List.copyOf(byRegistry.values());
        return Optional.of(made);
    }

    synchronized Optional<T> get(MeterRegistry registry) {
        return Optional.ofNullable(byRegistry.get(registry));
    }

    synchronized Optional<T> remove(MeterRegistry registry) {
        Optional<T> removed = Optional.ofNullable(byRegistry.remove(registry));
        all = List.copyOf(byRegistry.values());
        return removed;
    }

    List<T> all() {
        return all;
    }

    synchronized List<T> removeAll() {
        List<T> removed = all;
        byRegistry.clear();
        all = List.of();
        return removed;
    }
}
