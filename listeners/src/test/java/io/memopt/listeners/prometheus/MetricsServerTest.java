// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.prometheus;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.GarbageCollectionWatch;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.ThreadContext;
import io.memopt.allocator.recording.WorkspaceAccount;
import io.memopt.listeners.metrics.MemoptMetrics;
import io.memopt.listeners.metrics.TrainingTimers;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MetricsServerTest {
    private static final MemorySpace HOST = MemorySpace.HOST;

    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);
    private final TrainingTimers timers = new TrainingTimers();
    private final GarbageCollectionWatch watch = GarbageCollectionWatch.start(ledger);
    private final MemoptMetrics metrics =
            MemoptMetrics.of(ledger, watch, timers).build();

    @BeforeEach
    void cleanContext() {
        ThreadContext.current().owner(ledger.owners(), OwnerTable.UNKNOWN);
    }

    @AfterEach
    void close() {
        metrics.close();
        watch.close();
    }

    @Test
    void get_ofMetrics_answersWithTheExposition() throws IOException, InterruptedException {
        try (MetricsServer server = MetricsServer.start(metrics, 0)) {
            ledger.allocated(HOST, 1, 1, 4096, 4096);
            HttpResponse<String> response = get(server);

            assertThat(server.port()).isPositive();
            assertThat(response.statusCode()).isEqualTo(200);
            assertThat(response.headers().firstValue("Content-Type"))
                    .hasValueSatisfying(type -> assertThat(type).startsWith("text/plain; version=0.0.4"));
            assertThat(response.body()).contains("# TYPE memopt_reserved_bytes gauge", "kind=\"detached\"");
        }
    }

    @Test
    void scrape_seesNewMetersAndPeaksAtOnce_andPeaksOnlyOnce() throws IOException, InterruptedException {
        try (MetricsServer server = MetricsServer.start(metrics, 0)) {
            WorkspaceAccount account = ledger.openAccount("WS_NEW", Thread.currentThread(), false);
            ledger.arrayAllocated(account, HOST, 1, 640, 640);
            ledger.arraysReleased(account, HOST);

            assertThat(get(server).body()).contains(used("WS_NEW", 640.0));
            assertThat(server.scrape()).contains(used("WS_NEW", 0.0));
        }
    }

    @Test
    void start_whenPortIsTaken_saysSoAndLeavesNothingBound() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            int port = taken.getLocalPort();
            AtomicBoolean bound = new AtomicBoolean();
            MeterBinder binder = registry -> bound.set(true);

            assertThatThrownBy(() -> MetricsServer.start(binder, port))
                    .isInstanceOfSatisfying(
                            MetricsServerException.class,
                            e -> assertThat(e.port()).isEqualTo(port))
                    .hasMessageContaining("port=" + port)
                    .hasMessageContaining("Choose another port");
            assertThat(bound).isFalse();
        }
    }

    @Test
    void start_withImpossiblePort_isRefused() {
        assertThatThrownBy(() -> MetricsServer.start(metrics, 70_000))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("port=70000");
    }

    @Test
    void start_withUnknownHost_saysSo() {
        assertThatThrownBy(() -> MetricsServer.start(List.of(metrics), "no.such.host.invalid", 0))
                .isInstanceOf(MetricsServerException.class)
                .hasMessageContaining("no.such.host.invalid");
    }

    @Test
    void start_withCommonTagsFirst_putsThemOnEverySample() {
        MeterBinder tags = registry -> registry.config().commonTags("job_id", "7");
        try (MetricsServer server = MetricsServer.start(List.of(tags, metrics), 0)) {
            timers.iterationEnded("net", 1, 0, 1000);
            ledger.openAccount("WS", Thread.currentThread(), false);

            assertThat(server.scrape().lines().filter(line -> !line.startsWith("#")))
                    .isNotEmpty()
                    .allMatch(line -> line.contains("job_id=\"7\""));
            timers.networkRemoved("net");
            assertThat(server.scrape()).doesNotContain("network=\"net\"");
        }
    }

    @Test
    void close_freesThePort_andBindersCanServeAgain() {
        MetricsServer first = MetricsServer.start(metrics, 0);
        int port = first.port();
        first.close();

        assertThat(first.registry().getMeters()).isEmpty();
        try (MetricsServer second = MetricsServer.start(metrics, port)) {
            assertThat(second.port()).isEqualTo(port);
            assertThat(second.scrape()).contains("memopt_networks");
        }
    }

    @Test
    void threads_areDaemons() {
        try (MetricsServer server = MetricsServer.start(metrics, 0)) {
            server.scrape();
            assertThat(Thread.getAllStackTraces().keySet().stream()
                            .filter(t -> t.getName().matches("prometheus-http.*|HTTP-Dispatcher")))
                    .isNotEmpty()
                    .allMatch(Thread::isDaemon);
        }
    }

    /** Four threads drive the books while two scrape: no scrape fails, no figure is impossible, and at the end all is 0. */
    @Test
    void scrape_whileFourThreadsDriveTheLedger_staysConsistent() throws InterruptedException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        try (MetricsServer server = MetricsServer.start(metrics, 0)) {
            List<Thread> drivers = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                int number = t;
                drivers.add(new Thread(() -> drive(number), "driver-" + t));
            }
            AtomicBoolean done = new AtomicBoolean();
            List<Thread> scrapers = new ArrayList<>();
            for (int t = 0; t < 2; t++) {
                scrapers.add(new Thread(() -> {
                    while (!done.get()) {
                        String body = server.scrape();
                        assertThat(value(body, "memopt_reserved_peak_bytes{space=\"host\",}"))
                                .isBetween(0.0, 4 * 3000.0);
                        assertThat(body).contains("memopt_live_peak_bytes");
                    }
                }));
            }
            for (Thread thread : concat(drivers, scrapers)) {
                thread.setUncaughtExceptionHandler((who, e) -> failure.compareAndSet(null, e));
                thread.start();
            }
            for (Thread thread : drivers) {
                thread.join();
            }
            done.set(true);
            for (Thread thread : scrapers) {
                thread.join();
            }
            for (int n = 0; n < 3; n++) {
                timers.networkRemoved("net" + n);
            }
            server.scrape();
            String last = server.scrape();

            assertThat(failure.get()).isNull();
            assertThat(value(last, "memopt_reserved_peak_bytes{space=\"host\",}"))
                    .isZero();
            assertThat(value(last, "memopt_live_peak_bytes{space=\"host\",}")).isZero();
            assertThat(value(last, "memopt_networks")).isEqualTo(0);
        }
    }

    private void drive(int number) {
        for (int i = 0; i < 2000; i++) {
            WorkspaceAccount account = ledger.openAccount("WS" + i % 5, Thread.currentThread(), false);
            ledger.scopeEntered(account, HOST);
            long key = number * 1_000_000L + i + 1;
            ledger.allocated(HOST, key, key, 3000, 3000);
            ledger.arrayAllocated(account, HOST, key, 500, 500);
            ledger.arraysReleased(account, HOST);
            timers.iterationEnded("net" + i % 3, i, 0, 1000);
            ledger.freed(key);
            ledger.closeAccount(account);
        }
    }

    private static String used(String workspace, double bytes) {
        return "memopt_workspace_used_bytes{space=\"host\",workspace=\"" + workspace + "\",} " + bytes;
    }

    private static double value(String body, String sample) {
        return body.lines()
                .filter(line -> line.startsWith(sample + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(sample.length() + 1)))
                .findFirst()
                .orElseThrow(() -> new AssertionError(sample + " is not in\n" + body));
    }

    private static List<Thread> concat(List<Thread> a, List<Thread> b) {
        List<Thread> all = new ArrayList<>(a);
        all.addAll(b);
        return all;
    }

    private static HttpResponse<String> get(MetricsServer server) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(server.uri()).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    }
}
