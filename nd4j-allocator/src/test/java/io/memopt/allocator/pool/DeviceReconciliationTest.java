// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class DeviceReconciliationTest {
    private static final PoolStatistics POOL =
            new PoolStatistics(100, 100, 80, 80, 0, 0, 1, 1, 0, new SourceCalls(1, 1, 0));

    @Test
    void parts_withProcessesToldApart_addUpToTheWhole() {
        DeviceUsage usage = new DeviceUsage(10_000, 3000, OptionalLong.of(2500));
        DeviceReconciliation figures = new DeviceReconciliation(usage, 400, POOL, 2000, Map.of("cublas", 32L));

        assertThat(figures.parts())
                .containsExactly(
                        Map.entry("arrays", 400L),
                        Map.entry("pool_unused", 20L),
                        Map.entry("context", 2000L),
                        Map.entry("cublas", 32L),
                        Map.entry("other_processes", 500L),
                        Map.entry("unattributed", 48L));
        assertThat(sum(figures)).isEqualTo(3000);
    }

    @Test
    void parts_withProcessesNotToldApart_haveNoOthers() {
        DeviceUsage usage = new DeviceUsage(10_000, 3000, OptionalLong.empty());
        DeviceReconciliation figures = new DeviceReconciliation(usage, 400, POOL, 2500, Map.of());

        assertThat(figures.otherBytes()).isZero();
        assertThat(figures.unattributedBytes()).isEqualTo(80);
        assertThat(sum(figures)).isEqualTo(3000);
    }

    @Test
    void parts_thatClaimTooMuch_leaveLessThanNothing() {
        DeviceUsage usage = new DeviceUsage(10_000, 3000, OptionalLong.of(2000));
        DeviceReconciliation figures = new DeviceReconciliation(usage, 400, POOL, 2500, Map.of());

        assertThat(figures.unattributedBytes()).isEqualTo(-920);
        assertThat(sum(figures)).isEqualTo(3000);
    }

    @Test
    void plus_ofAKnownAndAnUnknownProcess_isUnknown() {
        DeviceUsage known = new DeviceUsage(10, 5, OptionalLong.of(3));
        DeviceUsage unknown = new DeviceUsage(20, 7, OptionalLong.empty());

        assertThat(DeviceUsage.NONE.plus(known)).isEqualTo(known);
        assertThat(known.plus(unknown)).isEqualTo(new DeviceUsage(30, 12, OptionalLong.empty()));
        assertThat(known.plus(unknown).attributableBytes()).isEqualTo(12);
    }

    private static long sum(DeviceReconciliation figures) {
        return figures.parts().values().stream().mapToLong(Long::longValue).sum();
    }
}
