// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LedgerMetricsTest {
    private static final String LIVE_PEAK = "memopt_live_peak_bytes";
    private static final String RESERVED_PEAK = "memopt_reserved_peak_bytes";

    private final AtomicLong clock = new AtomicLong(1_000_000_000);
    private final Driver driver = new Driver();
    private final LedgerMetrics metrics = new LedgerMetrics(driver.ledger, driver.timers, clock::get);
    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    @Test
    void scrape_afterPeakBetweenScrapes_showsItExactlyOnce() {
        metrics.bindTo(registry);
        Exposition before = scrapeLater(registry);
        driver.pulse(5000);
        Exposition next = scrapeLater(registry);
        Exposition after = scrapeLater(registry);

        assertThat(before.sum(LIVE_PEAK)).isZero();
        assertThat(next.sum(LIVE_PEAK)).isEqualTo(5000);
        assertThat(next.sum(RESERVED_PEAK)).isEqualTo(5000);
        assertThat(next.sum("memopt_live_bytes")).isZero();
        assertThat(after.sum(LIVE_PEAK)).isZero();
        assertThat(after.sum(RESERVED_PEAK)).isZero();
    }

    @Test
    void scrape_afterPeakBetweenScrapes_withHook_showsItExactlyOnce() {
        metrics.bindTo(registry);
        scrapeHooked(registry);
        driver.pulse(5000);

        // No time passes: the hook alone says that a scrape begins.
        assertThat(scrapeHooked(registry).sum(LIVE_PEAK)).isEqualTo(5000);
        assertThat(scrapeHooked(registry).sum(LIVE_PEAK)).isZero();
    }

    @Test
    void scrape_withTwoRegistries_showsThePeakOnceToEach() {
        PrometheusMeterRegistry other = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        metrics.bindTo(registry);
        metrics.bindTo(other);
        scrapeLater(registry);
        scrapeLater(other);
        driver.pulse(5000);

        assertThat(scrapeLater(registry).sum(LIVE_PEAK)).isEqualTo(5000);
        assertThat(scrapeLater(registry).sum(LIVE_PEAK)).isZero();
        assertThat(scrapeLater(other).sum(LIVE_PEAK)).isEqualTo(5000);
        assertThat(scrapeLater(other).sum(LIVE_PEAK)).isZero();
    }

    /** The previous test with no clock that helps: two registries in the same instant. */
    @Test
    void scrape_withTwoRegistriesAtOnce_showsThePeakToEach() {
        PrometheusMeterRegistry other = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        metrics.bindTo(registry);
        metrics.bindTo(other);
        driver.pulse(5000);

        assertThat(new Exposition(registry.scrape()).sum(LIVE_PEAK)).isEqualTo(5000);
        assertThat(new Exposition(other.scrape()).sum(LIVE_PEAK)).isEqualTo(5000);
    }

    @Test
    void scrape_soonAfterAnother_belongsToTheSameWindow() {
        metrics.bindTo(registry);
        scrapeLater(registry);
        driver.pulse(5000);
        scrapeLater(registry);
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(MemoryMeterBinder.MIN_AGE_MILLIS) - 1);

        assertThat(new Exposition(registry.scrape()).sum(LIVE_PEAK)).isEqualTo(5000);
    }

    @Test
    void read_ofOneGauge_takesNoPeakFromOthers() {
        MeterRegistry simple = new SimpleMeterRegistry();
        metrics.bindTo(simple);
        Gauge live = simple.get("memopt.live.peak").gauge();
        Gauge reserved = simple.get("memopt.reserved.peak").gauge();
        live.value();
        reserved.value();
        driver.pulse(5000);
        later();
        assertThat(live.value()).isEqualTo(5000);
        later();
        assertThat(live.value()).isZero();

        // Nobody looked at this one while two windows went by.
        assertThat(reserved.value()).isEqualTo(5000);
        later();
        assertThat(reserved.value()).isZero();
    }

    @Test
    void scrape_takingLongerThanTheMinimumAge_staysWithinOnePass() {
        MeterRegistry simple = new SimpleMeterRegistry();
        metrics.bindTo(simple);
        driver.ledger.allocated(Driver.HOST, 1, 1, 100, 100);
        assertThat(simple.get("memopt.live.peak").gauge().value()).isEqualTo(100);
        driver.ledger.allocated(Driver.HOST, 2, 2, 900, 900);
        later();

        // First read of these since the pass, so still the same scrape.
        assertThat(simple.get("memopt.reserved.peak").gauge().value()).isEqualTo(100);
        assertThat(simple.get("memopt.reserved").tag("kind", "detached").gauge().value())
                .isEqualTo(100);
    }

    @Test
    void peak_ofLayerSeenFirstAfterBinding_isNotLost() {
        metrics.bindTo(registry);
        scrapeLater(registry);
        detachedLayer("net", "late", 700);
        Exposition registered = scrapeLater(registry);
        Exposition seen = scrapeLater(registry);
        Exposition after = scrapeLater(registry);

        // A registry without a hook may show a meter that is new in the scrape after.
        double first = registered.sum("memopt_layer_peak_bytes", "layer", "late");
        double second = seen.sum("memopt_layer_peak_bytes", "layer", "late");
        assertThat(Math.max(first, second)).isEqualTo(700);
        assertThat(Math.min(first, second)).isZero();
        assertThat(after.sum("memopt_layer_peak_bytes", "layer", "late")).isZero();
    }

    @Test
    void layers_beyondFifty_shareOther() {
        for (int i = 0; i < 60; i++) {
            detachedLayer("net", "layer" + i, 1000 + i);
        }
        metrics.bindTo(registry);
        for (int i = 0; i < 60; i++) {
            detachedLayer("net", "layer" + i, 1000 + i);
        }
        Exposition scrape = scrapeLater(registry);

        assertThat(scrape.values("memopt_layer_peak_bytes", "layer"))
                .hasSize(51)
                .contains("other", "layer59", "layer10")
                .doesNotContain("layer9");
        assertThat(scrape.sum("memopt_layer_peak_bytes", "layer", "other")).isEqualTo(10 * 1000 + 45);
    }

    @Test
    void networks_beyondSixteen_shareOther_andTheSumStaysExact() {
        for (int i = 0; i < 20; i++) {
            driver.ledger.adopt(Driver.HOST, i + 1, i + 1, 100, "net" + i, Category.PARAMETERS);
        }
        metrics.bindTo(registry);
        Exposition scrape = scrapeLater(registry);

        assertThat(scrape.values("memopt_live_bytes", "network")).contains("net15", "other", "none");
        assertThat(scrape.sum("memopt_live_bytes", "network", "other")).isEqualTo(400);
        assertThat(scrape.sum("memopt_live_bytes")).isEqualTo(2000);
    }

    @Test
    void networkRemoved_takesItsRowsAway_andKeepsWhatIsStillHeldAsOther() {
        driver.everything("net");
        metrics.bindTo(registry);
        assertThat(scrapeLater(registry).values("memopt_live_bytes", "network")).contains("net");

        driver.timers.networkRemoved("net");
        Exposition scrape = scrapeTwice();

        assertThat(scrape.values("memopt_live_bytes", "network")).doesNotContain("net");
        assertThat(scrape.of("memopt_layer_peak_bytes")).isEmpty();
        assertThat(scrape.sum("memopt_live_bytes", "network", "other", "category", "parameters"))
                .isEqualTo(4096);
    }

    @Test
    void workspaceClosed_takesItsGaugesAway_andKeepsItsCounters() {
        WorkspaceAccount account = driver.ledger.openAccount("WS", Thread.currentThread(), false);
        driver.inIntent(AllocationKind.SPILL, account, () -> driver.ledger.allocated(Driver.HOST, 1, 1, 64, 64));
        metrics.bindTo(registry);
        assertThat(scrapeLater(registry).of("memopt_thread_workspace_bytes")).hasSize(1);

        driver.ledger.closeAccount(account);
        Exposition scrape = scrapeTwice();

        assertThat(scrape.of("memopt_workspace_reserved_bytes")).isEmpty();
        assertThat(scrape.of("memopt_workspace_used_bytes")).isEmpty();
        assertThat(scrape.of("memopt_thread_workspace_bytes")).isEmpty();
        assertThat(scrape.sum("memopt_workspace_spilled_bytes_total", "workspace", "WS"))
                .isEqualTo(64);
    }

    @Test
    void threads_beyondSixteen_shareOther_withTheLongestIdleTime() {
        for (int i = 0; i < 20; i++) {
            Thread thread = new Thread(() -> {}, "worker-" + i);
            WorkspaceAccount account = driver.ledger.openAccount("WS", thread, false);
            long bytes = 1000L + i;
            long key = i + 1L;
            driver.inIntent(
                    AllocationKind.WORKSPACE_BLOCK,
                    account,
                    () -> driver.ledger.allocated(Driver.HOST, key, key, bytes, bytes));
        }
        clock.set(System.nanoTime());
        metrics.bindTo(registry);
        Exposition scrape = scrapeLater(registry);

        assertThat(scrape.values("memopt_thread_workspace_bytes", "thread"))
                .hasSize(17)
                .contains("worker-19", "other");
        assertThat(scrape.sum("memopt_thread_workspace_bytes", "thread", "other"))
                .isEqualTo(4006);
        assertThat(scrape.of("memopt_thread_idle_seconds"))
                .allSatisfy(idle -> assertThat(idle.value()).isBetween(0.0, 100.0));
    }

    @Test
    void workspaces_beyondSixtyFour_shareOther() {
        for (int i = 0; i < 70; i++) {
            driver.ledger.openAccount("WS" + i, Thread.currentThread(), false);
        }
        metrics.bindTo(registry);

        assertThat(scrapeLater(registry).values("memopt_workspace_reserved_bytes", "workspace"))
                .hasSize(65)
                .contains("other");
    }

    @Test
    void otherSpaces_appearOnlyOnceUsed() {
        metrics.bindTo(registry);
        assertThat(scrapeLater(registry).values("memopt_reserved_bytes", "space"))
                .containsExactly("host");

        driver.ledger.allocated(MemorySpace.DEVICE, 1, 1, 2048, 2048);
        Exposition scrape = scrapeTwice();

        assertThat(scrape.sum("memopt_reserved_bytes", "space", "device")).isEqualTo(2048);
        assertThat(scrape.sum("memopt_live_peak_bytes", "space", "device")).isEqualTo(2048);
    }

    @Test
    void gauges_survivingGarbageCollection_keepTheirState() {
        // The binder is dropped by its creator; the registry alone holds it.
        new LedgerMetrics(driver.ledger, driver.timers, clock::get).bindTo(registry);
        driver.ledger.allocated(Driver.HOST, 1, 1, 300, 300);
        System.gc();
        Exposition scrape = scrapeLater(registry);

        assertThat(scrape.sum("memopt_reserved_bytes")).isEqualTo(300);
        assertThat(scrape.sum("memopt_allocations_total")).isEqualTo(1);
    }

    @Test
    void bindTo_twice_doesNothing() {
        metrics.bindTo(registry);
        int meters = registry.getMeters().size();
        metrics.bindTo(registry);

        assertThat(registry.getMeters()).hasSize(meters);
    }

    private void detachedLayer(String network, String layer, long bytes) {
        driver.layer(network, layer, Phase.FORWARD, () -> driver.pulse(bytes));
    }

    private void later() {
        clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
    }

    private Exposition scrapeLater(PrometheusMeterRegistry scraped) {
        later();
        return new Exposition(scraped.scrape());
    }

    /** Meters come and go while the first scrape runs. */
    private Exposition scrapeTwice() {
        scrapeLater(registry);
        return scrapeLater(registry);
    }

    private Exposition scrapeHooked(PrometheusMeterRegistry scraped) {
        metrics.beforeScrape(scraped);
        return new Exposition(scraped.scrape());
    }
}
