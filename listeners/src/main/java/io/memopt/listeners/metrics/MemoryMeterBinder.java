// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/**
 * A binder of this project. It may be bound to any number of registries, each of which gets meters and windows ("peak
 * since the previous scrape") of its own; binding twice to the same registry does nothing. Bind to the registries that
 * are scraped, not to a composite over them: two readers of one registry share its windows.
 *
 * <p><b>Scrapes.</b> All values of a binder come from one pass over the figures, so they belong together, and within one
 * scrape no pass happens twice. An endpoint that can says when a scrape begins ({@link #beforeScrape}). Otherwise the
 * first meter that is read a second time begins the next scrape, if the pass is older than {@link #MIN_AGE_MILLIS}; a peak
 * that nobody has read is kept until somebody does.
 *
 * <p>Meters come and go with their subject (network, thread, workspace); without {@link #beforeScrape} a new one is seen
 * from the scrape after its first.
 *
 * <p>Threading: all methods may be called from any thread.
 */
public interface MemoryMeterBinder extends MeterBinder, AutoCloseable {

    /** Reads within this time belong to the same scrape, so that two scrapers in step do not halve each other's window. */
    long MIN_AGE_MILLIS = 200;

    /** A scrape of {@code registry} begins: brings its meters up to date. Unknown registries are ignored. */
    void beforeScrape(MeterRegistry registry);

    /** Removes this binder's meters from {@code registry}. Unknown registries are ignored. */
    void unbind(MeterRegistry registry);

    /** Removes this binder's meters from all registries. It may be bound again. */
    @Override
    void close();
}
