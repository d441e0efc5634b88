// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.memopt.allocator.event.MemorySpace;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/** An exact limit, with failures that look like those of the real library. */
class AllocationLimitTest {
    private static final long MIB = 1 << 20;
    /** Nobody has so much: refused at once, and no page is touched. */
    private static final long ABSURD = 1L << 46;

    private AllocationLimit limit;

    @BeforeEach
    void install() throws InterruptedException {
        MemoryHooks.install();
        Nd4j.ones(DataType.FLOAT, 8).addi(1).close();
        System.gc(); // what the collector frees meanwhile is no part of what is counted here
        Thread.sleep(50);
        limit = MemoryHooks.limit(AllocationLimit.NONE);
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void limit_isExactToTheByte() {
        NativeOps ops = NativeOpsHolder.getInstance().getDeviceNativeOps();
        long before = limit.liveBytes();
        limit.limit(before + 4 * MIB);

        Pointer fits = ops.mallocHost(4 * MIB, 0);
        assertThat(limit.liveBytes()).isEqualTo(before + 4 * MIB);
        assertThatThrownBy(() -> ops.mallocHost(1, 0)).hasMessage("std::bad_alloc");
        ops.freeHost(fits);

        assertThat(limit.liveBytes()).isEqualTo(before);
        ops.freeHost(ops.mallocHost(4 * MIB, 0));
        assertThat(limit.refusals()).isEqualTo(1);
    }

    @Test
    void liveBytes_areThoseOfTheLedger() {
        WorkspaceConfiguration configuration =
                WorkspaceConfiguration.builder().initialSize(MIB).build();
        try (MemoryWorkspace scope = Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, "LIMITED")) {
            assertThat(scope.isScopeActive()).isTrue();
            Nd4j.createUninitialized(DataType.FLOAT, MIB); // spills
        }
        INDArray grown = Nd4j.createUninitialized(DataType.DOUBLE, 1000);
        grown.data().reallocate(5000);
        INDArray closed = Nd4j.createUninitialized(DataType.DOUBLE, 1000);

        assertThat(limit.liveBytes()).isEqualTo(MemoryHooks.recording().ledger().reservedBytes(MemorySpace.HOST));
        Nd4j.getWorkspaceManager().destroyWorkspace(Nd4j.getWorkspaceManager().getWorkspaceForCurrentThread("LIMITED"));
        closed.close();
        assertThat(limit.liveBytes()).isEqualTo(MemoryHooks.recording().ledger().reservedBytes(MemorySpace.HOST));
        assertThat(grown.length()).isEqualTo(1000); // left to the collector: M1.1 does not close it
    }

    @Test
    void refusedArray_failsAsWithTheRealLibrary() {
        Throwable real = catchThrowable(() -> Nd4j.createUninitialized(DataType.FLOAT, ABSURD));
        limit.limit(limit.liveBytes() + 1);
        Throwable ours = catchThrowable(() -> Nd4j.createUninitialized(DataType.FLOAT, 1000));

        assertThat(ours).hasSameClassAs(real);
        assertThat(text(ours)).isEqualTo(text(real));
        limit.limit(AllocationLimit.NONE);
        assertThat(Nd4j.ones(DataType.FLOAT, 10).sumNumber().doubleValue()).isEqualTo(10);
    }

    @Test
    void refusedBlock_failsAsWithTheRealLibrary() {
        Throwable real = catchThrowable(() -> open(ABSURD));
        limit.limit(limit.liveBytes() + 1);
        Throwable ours = catchThrowable(() -> open(MIB));

        assertThat(ours).hasSameClassAs(real).hasMessage(real.getMessage());
    }

    @Test
    void refusedGrowth_leavesTheArrayAsItWas() {
        INDArray array = Nd4j.ones(DataType.FLOAT, 1000);
        limit.limit(limit.liveBytes() + 1);

        assertThatThrownBy(() -> array.data().reallocate(2000)).hasMessageContaining("DataBuffer expansion failed");

        limit.limit(AllocationLimit.NONE);
        assertThat(array.sumNumber().doubleValue()).isEqualTo(1000);
    }

    @Test
    void failRequest_failsThatOneWithAllItsTries() {
        limit.failRequest(2);
        long before = limit.requests();

        Nd4j.createUninitialized(DataType.FLOAT, 100);
        assertThatThrownBy(() -> Nd4j.createUninitialized(DataType.FLOAT, 100))
                .hasStackTraceContaining("Allocation failed");
        Nd4j.createUninitialized(DataType.FLOAT, 100);

        assertThat(limit.requests() - before).isEqualTo(3);
        assertThat(limit.refusals()).isEqualTo(5);
    }

    @Test
    void failRequest_ofBlocks_failsOnce() {
        limit.failRequest(1);

        assertThatThrownBy(() -> open(MIB)).hasMessage("std::bad_alloc");

        assertThat(limit.refusals()).isEqualTo(1);
    }

    @Test
    void failures_areBooked() {
        limit.failRequest(1);
        assertThat(catchThrowable(() -> Nd4j.createUninitialized(DataType.FLOAT, 100)))
                .isNotNull();
        assertThat(MemoryHooks.recording().ledger().flows().failures(MemorySpace.HOST))
                .isEqualTo(5);
    }

    @Test
    void close_takesEverythingOut() {
        limit.limit(1);
        limit.close();

        Nd4j.createUninitialized(DataType.FLOAT, 100).close();

        assertThat(MemoryHooks.currentLimit()).isEmpty();
        assertThat(NativeOpsHolder.getInstance().getDeviceNativeOps())
                .isInstanceOf(OpsFront.class)
                .satisfies(ops -> assertThat(ops.getClass().getDeclaredMethods())
                        .noneMatch(method -> method.getName().equals("lastErrorCode")));
    }

    @Test
    void secondLimit_changesTheFirst() {
        AllocationLimit again = MemoryHooks.limit(limit.liveBytes() + MIB);

        assertThat(again).isSameAs(limit);
        assertThatThrownBy(() -> Nd4j.createUninitialized(DataType.FLOAT, MIB)).isInstanceOf(RuntimeException.class);
    }

    @Test
    void servedMemory_isNotLimitedHere() {
        assertThatThrownBy(() -> MemoryHooks.serve(null, null, true))
                .isInstanceOf(HookException.class)
                .hasMessageContaining("limit the pool instead");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemoryHooks.limit(0))
                .withMessageContaining("limitBytes=0");
    }

    @Test
    void threads_togetherNeverExceedTheLimit() throws Exception {
        long room = 64 * 1000;
        limit.limit(limit.liveBytes() + room);
        long most = limit.limitBytes();
        ExecutorService pool = Executors.newFixedThreadPool(4);
        try {
            List<Future<Long>> results = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                results.add(pool.submit(() -> {
                    long largest = 0;
                    for (int j = 0; j < 2000; j++) {
                        if (limit.admits(1000, false)) {
                            largest = Math.max(largest, limit.liveBytes());
                            limit.notTaken(1000);
                        }
                    }
                    return largest;
                }));
            }
            for (Future<Long> result : results) {
                assertThat(result.get()).isPositive().isLessThanOrEqualTo(most);
            }
        } finally {
            pool.shutdownNow();
        }
    }

    private static void open(long bytes) {
        WorkspaceConfiguration configuration =
                WorkspaceConfiguration.builder().initialSize(bytes).build();
        try (MemoryWorkspace scope =
                Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, "LIMITED" + bytes)) {
            assertThat(scope).isNotNull();
        }
    }

    /** Messages of the chain of causes, numbers left out. */
    private static String text(Throwable failure) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = failure; each != null; each = each.getCause()) {
            text.append(each.getMessage()).append('\n');
        }
        return text.toString().replaceAll("\\d+", "N");
    }
}
