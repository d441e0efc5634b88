// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.prometheus;

import io.memopt.listeners.metrics.MemoryMeterBinder;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.prometheus.PrometheusConfig;
import io.micrometer.prometheus.PrometheusMeterRegistry;
import io.prometheus.client.exporter.HTTPServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP endpoint that Prometheus scrapes: {@code MetricsServer.start(metrics, 9464)}, then {@code GET /metrics}. Reachable
 * from this machine only unless a host is given: the figures are served to whoever asks, without a password.
 *
 * <p>Meant for one Prometheus: "peak since the previous scrape" is the previous scrape of anybody. A second one gets an
 * endpoint of its own.
 *
 * <p>Threading: any thread. The server's threads are daemons and do not keep the program alive.
 */
@SuppressWarnings(
        "deprecation") // Micrometer deprecates its simpleclient registry for the newer one; the binders serve both
public final class MetricsServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MetricsServer.class);

    private final List<MeterBinder> binders;
    private final PrometheusMeterRegistry registry;
    private final HTTPServer server;
    private final String host;
    private final AtomicBoolean closed = new AtomicBoolean();

    private MetricsServer(List<MeterBinder> binders, PrometheusMeterRegistry registry, HTTPServer server, String host) {
        this.binders = binders;
        this.registry = registry;
        this.server = server;
        this.host = host;
    }

    /** As {@link #start(List, String, int)}, on the loopback address. */
    public static MetricsServer start(MeterBinder binder, int port) {
        return start(List.of(binder), port);
    }

    /** As {@link #start(List, String, int)}, on the loopback address. */
    public static MetricsServer start(List<? extends MeterBinder> binders, int port) {
        return start(binders, InetAddress.getLoopbackAddress().getHostAddress(), port);
    }

    /**
     * Binds the binders to a registry of the server's own and serves it.
     *
     * @param host address to listen on, e.g. {@code 0.0.0.0} for all
     * @param port 0 to 65535; 0 takes any free one, see {@link #port()}
     * @throws IllegalArgumentException if {@code port} is out of range
     * @throws MetricsServerException if the port is taken or not allowed, or the host is not one of this machine; nothing
     *     is left bound
     */
    public static MetricsServer start(List<? extends MeterBinder> binders, String host, int port) {
        if (port < 0 || port > 65535) {
            throw new IllegalArgumentException("port=" + port + ", expected 0..65535");
        }
        List<MeterBinder> all = List.copyOf(binders);
        PrometheusMeterRegistry registry = registryOf(all);
        HTTPServer server = open(registry, host, port);
        try {
            all.forEach(binder -> binder.bindTo(registry));
        } catch (RuntimeException e) {
            server.close();
            unbind(all, registry);
            throw e;
        }
        LOG.info("Metrics at http://{}:{}/metrics", host, server.getPort());
        return new MetricsServer(all, registry, server, host);
    }

    /** The port that is listened on. */
    public int port() {
        return server.getPort();
    }

    /** What to tell Prometheus. */
    public URI uri() {
        String bracketed = host.contains(":") ? "[" + host + "]" : host;
        return URI.create("http://" + bracketed + ":" + port() + "/metrics");
    }

    /**
     * For meters of the caller's own; closed with the server. Common tags must be set before any meter is there: give a
     * binder {@code registry -> registry.config().commonTags(…)} as the first.
     */
    public MeterRegistry registry() {
        return registry;
    }

    /** The text of a scrape; counts as one. */
    public String scrape() {
        return registry.scrape();
    }

    /** Stops listening and removes the meters from the binders' books; the binders stay usable. Further calls do nothing. */
    @Override
    public void close() {
        if (closed.getAndSet(true)) {
            return;
        }
        server.close();
        unbind(binders, registry);
        registry.close();
    }

    private static PrometheusMeterRegistry registryOf(List<MeterBinder> binders) {
        PrometheusMeterRegistry[] registry = new PrometheusMeterRegistry[1];
        ScrapedRegistry scraped = new ScrapedRegistry(() -> beforeScrape(binders, registry[0]));
        registry[0] = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT, scraped, Clock.SYSTEM);
        return registry[0];
    }

    private static void beforeScrape(List<MeterBinder> binders, MeterRegistry registry) {
        for (MeterBinder binder : binders) {
            if (binder instanceof MemoryMeterBinder ours) {
                ours.beforeScrape(registry);
            }
        }
    }

    private static void unbind(List<MeterBinder> binders, MeterRegistry registry) {
        for (MeterBinder binder : binders) {
            if (binder instanceof MemoryMeterBinder ours) {
                ours.unbind(registry);
            }
        }
    }

    private static HTTPServer open(PrometheusMeterRegistry registry, String host, int port) {
        try {
            InetAddress address = InetAddress.getByName(host);
            return new HTTPServer.Builder()
                    .withInetSocketAddress(new InetSocketAddress(address, port))
                    .withRegistry(registry.getPrometheusRegistry())
                    .withDaemonThreads(true)
                    .build();
        } catch (IOException e) {
            String message = "Metrics endpoint not started: cannot listen on host=" + host + ", port=" + port + " ("
                    + e.getMessage()
                    + "). Choose another port, or 0 for any free one; if an earlier run still holds it,"
                    + " stop that run.";
            throw new MetricsServerException(message, port, e);
        }
    }
}
