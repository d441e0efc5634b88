// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.HookException;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.pool.MemoryPool;
import io.memopt.allocator.pool.PoolOptions;
import io.memopt.allocator.pool.PoolStatistics;
import io.memopt.testing.Networks;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Whole trainings of ND4J's CPU backend with its arrays and blocks in a pool. */
class MemoryServiceTest {
    private static final int ITERATIONS = 8;
    private static final int WARM_UP = 4;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void training_inServedMemory_isEqualBitForBit(Networks family) {
        INDArray plain = train(family, null);
        MemoryHooks.install();
        MemoryPool pool = HostPool.open(PoolOptions.UNLIMITED);
        try (MemoryService service = MemoryService.begin(device -> pool, device -> pool, false)) {
            INDArray served = train(family, service);

            assertThat(service.pool().allocations()).isPositive();
            assertThat(service.notes()).anyMatch(note -> note.startsWith("Device memory pool: reserved "));
            assertThat(served.equalsWithEps(plain, 0)).isTrue();
        }
        // the network is gone, and with it all but what waits for the collector
        assertThat(train(family, null).equalsWithEps(plain, 0)).isTrue();
    }

    /** What the pool of a device says when it is full is explained like what ND4J says. */
    @Test
    void poolExhausted_isExplainedAsMemory() {
        MemoryHooks.install();
        MemoryPool pool = HostPool.open(PoolOptions.UNLIMITED.withLimit(8 << 20));

        assertThatThrownBy(() -> pool.allocate(9 << 20, 0))
                .satisfies(failure -> assertThat(MemOpt.explain(new IllegalStateException("step", failure)))
                        .doesNotContain("not about memory")
                        .contains("Held now: "));
    }

    @Test
    void begin_withoutCuda_isRefusedAndAttachGoesOn() {
        MemoryHooks.install();
        assertThatThrownBy(() -> MemoryService.begin(DeviceMemory.POOL, HostMirrors.UNTOUCHED, Long.MAX_VALUE))
                .isInstanceOf(HookException.class)
                .hasMessageContaining("need a CUDA backend");

        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        MemOptConfig config =
                MemOptConfig.builder().deviceMemory(DeviceMemory.POOL).build();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            Networks.fit(model, Networks.LENET.data(4, 1));
            assertThat(memopt.isActive()).isTrue();
            assertThat(memopt.devicePool().allocations()).isZero();
            memopt.trimDeviceMemory();
        }
    }

    @Test
    void config_withALimitButNoPool_isRefused() {
        assertThatThrownBy(
                        () -> MemOptConfig.builder().deviceLimitBytes(1L << 30).build())
                .hasMessageContaining("deviceLimitBytes=1073741824 but deviceMemory=PLAIN");
        assertThatThrownBy(() -> MemOptConfig.builder()
                        .deviceMemory(DeviceMemory.POOL)
                        .deviceLimitBytes(1)
                        .build())
                .hasMessageContaining("expected at least 67108864");
    }

    private static INDArray train(Networks family, MemoryService service) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        PoolStatistics warm = PoolStatistics.NONE;
        for (int i = 0; i < ITERATIONS; i++) {
            warm = service != null && i == WARM_UP ? service.pool() : warm;
            Networks.fit(model, family.data(16, 3)); // one shape, or workspaces would never be learnt
        }
        if (service != null && service.pool().livePeakBytes() == warm.livePeakBytes()) {
            assertThat(service.pool().calls())
                    .as("calls for memory once the peak is known")
                    .isEqualTo(warm.calls());
        }
        return model.params().dup();
    }
}
