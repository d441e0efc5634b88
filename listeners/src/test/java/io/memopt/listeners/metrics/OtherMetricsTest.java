// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.recording.MemoryLimits;
import io.memopt.allocator.recording.ProcessMemory;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** {@link ProcessMetrics} and {@link RecorderMetrics}. */
class OtherMetricsTest {
    private static final OptionalLong NONE = OptionalLong.empty();

    private final Driver driver = new Driver();
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    @Test
    void process_whereFiguresAreAbsent_hasNoSuchMeters() {
        new ProcessMetrics(
                        driver.ledger,
                        () -> new ProcessMemory(NONE, 10, 10, 20, 0, 0),
                        () -> new MemoryLimits(NONE, NONE, OptionalLong.of(7), NONE, NONE))
                .bindTo(registry);

        assertThat(registry.find("memopt.process.resident").meters()).isEmpty();
        assertThat(registry.find("memopt.unattributed").meters()).isEmpty();
        assertThat(registry.find("memopt.limit").gauges())
                .singleElement()
                .satisfies(gauge -> assertThat(gauge.getId().getTag("limit")).isEqualTo("heap"));
        assertThat(registry.get("memopt.jvm.committed")
                        .tag("area", "nonheap")
                        .gauge()
                        .value())
                .isEqualTo(20);
    }

    @Test
    void process_subtractsWhatTheBooksKnow() {
        driver.ledger.allocated(Driver.HOST, 1, 1, 300, 300);
        new ProcessMetrics(
                        driver.ledger,
                        () -> new ProcessMemory(OptionalLong.of(1000), 100, 100, 50, 25, 0),
                        MemoryLimits::current)
                .bindTo(registry);

        assertThat(registry.get("memopt.unattributed").gauge().value()).isEqualTo(525);
    }

    @Test
    void recorder_estimatesItsOverhead_fromEventsAndMeasuredCost() {
        RecorderMetrics metrics = new RecorderMetrics(driver.ledger, new RecorderFigures() {
            @Override
            public long lostEvents() {
                return 3;
            }

            @Override
            public long memoryBytes() {
                return 1 << 20;
            }

            @Override
            public long releasedBytes() {
                return 4096;
            }

            @Override
            public long plannedPasses() {
                return 120;
            }

            @Override
            public long missedPasses() {
                return 1;
            }

            @Override
            public long sizedPasses() {
                return 7;
            }

            @Override
            public long arenaResizes() {
                return 3;
            }

            @Override
            public long trimmedBytes() {
                return 8192;
            }

            @Override
            public long idleBytes() {
                return 16384;
            }

            @Override
            public long poolReservedBytes() {
                return 2 << 20;
            }

            @Override
            public long poolLiveBytes() {
                return 1 << 20;
            }

            @Override
            public long poolDriverCalls() {
                return 17;
            }

            @Override
            public long mirrorBytes() {
                return 1 << 10;
            }

            @Override
            public long offloadLate() {
                return 5;
            }

            @Override
            public double offloadWaitedSeconds() {
                return 0.25;
            }

            @Override
            public long headroomBytes() {
                return 5 << 20;
            }

            @Override
            public double iterationsLeft() {
                return 12.5;
            }

            @Override
            public long recoveries() {
                return 6;
            }

            @Override
            public int leakedPrefetchers() {
                return 2;
            }
        });
        driver.everything("net");
        metrics.bindTo(registry);

        assertThat(registry.get("memopt.recorder.overhead.seconds")
                        .functionCounter()
                        .count())
                .isBetween(driver.ledger.events() * 1e-9, driver.ledger.events() * 1e-2);
        assertThat(registry.get("memopt.recorder.lost.events").functionCounter().count())
                .isEqualTo(3);
        assertThat(registry.get("memopt.recorder.memory").gauge().value()).isGreaterThan(1 << 20);
        assertThat(registry.get("memopt.garbage.released").functionCounter().count())
                .isEqualTo(4096);
        assertThat(registry.get("memopt.plan.served").functionCounter().count()).isEqualTo(120);
        assertThat(registry.get("memopt.plan.missed").functionCounter().count()).isEqualTo(1);
        assertThat(registry.get("memopt.arena.sized").functionCounter().count()).isEqualTo(7);
        assertThat(registry.get("memopt.arena.resizes").functionCounter().count())
                .isEqualTo(3);
        assertThat(registry.get("memopt.arena.trimmed").functionCounter().count())
                .isEqualTo(8192);
        assertThat(registry.get("memopt.arena.idle").functionCounter().count()).isEqualTo(16384);
        assertThat(registry.get("memopt.pool.reserved").gauge().value()).isEqualTo(2 << 20);
        assertThat(registry.get("memopt.pool.live").gauge().value()).isEqualTo(1 << 20);
        assertThat(registry.get("memopt.pool.driver.calls").functionCounter().count())
                .isEqualTo(17);
        assertThat(registry.get("memopt.headroom").gauge().value()).isEqualTo(5 << 20);
        assertThat(registry.get("memopt.headroom.iterations").gauge().value()).isEqualTo(12.5);
        assertThat(registry.get("memopt.oom.recoveries").functionCounter().count())
                .isEqualTo(6);
        assertThat(registry.get("memopt.host.mirrors").gauge().value()).isEqualTo(1 << 10);
        assertThat(registry.get("memopt.offload.late").functionCounter().count())
                .isEqualTo(5);
        assertThat(registry.get("memopt.offload.waited").functionCounter().count())
                .isEqualTo(0.25);
        assertThat(registry.get("memopt.leaked.prefetchers").gauge().value()).isEqualTo(2);
    }
}
