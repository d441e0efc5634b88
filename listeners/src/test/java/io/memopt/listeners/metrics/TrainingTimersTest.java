// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Phase;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;

class TrainingTimersTest {
    private final TrainingTimers timers = new TrainingTimers();
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    @Test
    void reports_withoutRegistry_areInTheFigures() {
        timers.iterationEnded("net", 6, 1, 100);
        timers.iterationEnded("net", 7, 2, 300);
        timers.phaseEnded("net", Phase.BACKWARD, 50);

        assertThat(timers.networks()).singleElement().satisfies(net -> {
            assertThat(net.name()).isEqualTo("net");
            assertThat(net.iteration()).isEqualTo(7);
            assertThat(net.epoch()).isEqualTo(2);
            assertThat(net.iterations()).isEqualTo(new NetworkFigures.Durations(2, 400, 300));
            assertThat(net.phases()).containsOnlyKeys(Phase.BACKWARD);
        });
    }

    @Test
    void bindTo_afterReports_timesFromThenOn() {
        timers.iterationEnded("net", 1, 0, 100);
        timers.bindTo(registry);
        timers.iterationEnded("net", 2, 0, 1_000_000);

        assertThat(registry.get("memopt.iteration.seconds").timer().count()).isEqualTo(1);
        assertThat(registry.get("memopt.networks").gauge().value()).isEqualTo(1);
    }

    @Test
    void networkRemoved_removesItsMeters_andFreesItsLabel() {
        timers.bindTo(registry);
        timers.iterationEnded("net", 1, 0, 100);
        timers.phaseEnded("net", Phase.UPDATE, 10);
        timers.networkRemoved("net");
        timers.beforeScrape(registry);

        assertThat(registry.find("memopt.iteration.seconds").meters()).isEmpty();
        assertThat(registry.find("memopt.phase").meters()).isEmpty();
        assertThat(registry.find("memopt.iteration").meters()).isEmpty();
        assertThat(registry.get("memopt.networks").gauge().value()).isZero();
        assertThat(timers.labelOf("net")).isEqualTo("other");
        assertThat(timers.isRemoved("net")).isTrue();
    }

    @Test
    void networkAttached_again_isKnownAgain() {
        timers.networkRemoved("net");
        timers.networkAttached("net");

        assertThat(timers.isRemoved("net")).isFalse();
        assertThat(timers.labelOf("net")).isEqualTo("net");
    }

    @Test
    void networks_beyondSixteen_shareATimer() {
        timers.bindTo(registry);
        for (int i = 0; i < 20; i++) {
            timers.iterationEnded("net" + i, i, 0, 100);
        }
        timers.beforeScrape(registry);

        assertThat(registry.find("memopt.iteration.seconds").timers()).hasSize(17);
        assertThat(registry.get("memopt.iteration.seconds")
                        .tag("network", "other")
                        .timer()
                        .count())
                .isEqualTo(4);
        assertThat(registry.get("memopt.iteration")
                        .tag("network", "other")
                        .gauge()
                        .value())
                .isEqualTo(19);
        assertThat(registry.get("memopt.networks").gauge().value()).isEqualTo(20);
    }

    @Test
    void negativeDuration_countsAsZero() {
        timers.iterationEnded("net", 1, 0, -5);

        assertThat(timers.networks().get(0).iterations()).isEqualTo(new NetworkFigures.Durations(1, 0, 0));
    }
}
