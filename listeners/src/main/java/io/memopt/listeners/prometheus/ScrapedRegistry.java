// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.prometheus;

import io.prometheus.client.Collector.MetricFamilySamples;
import io.prometheus.client.CollectorRegistry;
import io.prometheus.client.Predicate;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Set;
import java.util.function.Supplier;

/**
 * A collector registry that knows when a scrape begins, and finishes one before the next: samples are gathered at once, not
 * while the answer is written.
 */
final class ScrapedRegistry extends CollectorRegistry {
    private final Runnable beforeScrape;

    ScrapedRegistry(Runnable beforeScrape) {
        super(true);
        this.beforeScrape = beforeScrape;
    }

    @Override
    public Enumeration<MetricFamilySamples> metricFamilySamples() {
        return gather(super::metricFamilySamples);
    }

    @Override
    public Enumeration<MetricFamilySamples> filteredMetricFamilySamples(Set<String> includedNames) {
        return gather(() -> super.filteredMetricFamilySamples(includedNames));
    }

    @Override
    public Enumeration<MetricFamilySamples> filteredMetricFamilySamples(Predicate<String> sampleNameFilter) {
        return gather(() -> super.filteredMetricFamilySamples(sampleNameFilter));
    }

    private synchronized Enumeration<MetricFamilySamples> gather(Supplier<Enumeration<MetricFamilySamples>> samples) {
        beforeScrape.run();
        return Collections.enumeration(Collections.list(samples.get()));
    }
}
