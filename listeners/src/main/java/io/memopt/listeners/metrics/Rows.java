// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.micrometer.core.instrument.Tags;
import java.util.LinkedHashMap;
import java.util.Map;

/** What one pass over the figures found: a value for each meter and combination of tags. Confined to its thread. */
final class Rows {
    private final Map<Key, Double> values = new LinkedHashMap<>();

    /** One meter with its tags. */
    record Key(Metric metric, Tags tags) {}

    /** Sets the value of a meter. */
    void put(Metric metric, double value, String... tags) {
        values.put(new Key(metric, Tags.of(tags)), value);
    }

    /** Sets the value of a meter; exact up to 2^53. */
    void put(Metric metric, long value, String... tags) {
        put(metric, (double) value, tags);
    }

    /** Adds to the value of a meter, for subjects that share a name. */
    void add(Metric metric, long value, String... tags) {
        values.merge(new Key(metric, Tags.of(tags)), (double) value, Double::sum);
    }

    /** Raises the value of a meter, for subjects that share a name and whose sum would mean nothing. */
    void max(Metric metric, double value, String... tags) {
        values.merge(new Key(metric, Tags.of(tags)), value, Math::max);
    }

    /** As {@link #max(Metric, double, String...)}. */
    void max(Metric metric, long value, String... tags) {
        max(metric, (double) value, tags);
    }

    Map<Key, Double> values() {
        return values;
    }
}
