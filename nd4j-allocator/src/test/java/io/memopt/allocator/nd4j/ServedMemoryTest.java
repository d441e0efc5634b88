// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.pool.MemoryPool;
import io.memopt.allocator.pool.MemorySourceException;
import io.memopt.allocator.pool.PoolExhaustedException;
import io.memopt.allocator.pool.PoolOptions;
import io.memopt.allocator.pool.StreamEvents;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/** Real arrays of ND4J's CPU backend in memory that a pool serves. */
class ServedMemoryTest {
    private static final long MIB = 1 << 20;

    private final HostSegments source = new HostSegments();
    private MemoryLedger ledger;

    /** What ND4J keeps for good is made before anything is served, or the layer could never go. */
    @BeforeAll
    static void fillCaches() {
        INDArray array = Nd4j.linspace(1, 1 << 10, 1 << 10, DataType.FLOAT).reshape(32, 32);
        array.mmul(array.transpose()).addi(1).add(1).sumNumber();
        Nd4j.ones(DataType.FLOAT, 100).sumNumber();
        assertThat(array.equals(array.dup().addi(1))).isFalse();
        array.data().reallocate(4000);
        work(0);
    }

    @BeforeEach
    void install() {
        ledger = MemoryHooks.install().ledger();
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
        awaitLayerGone();
    }

    private ServedMemory serve(PoolOptions options) {
        MemoryPool pool = new MemoryPool(source, StreamEvents.SYNCHRONOUS, options);
        return MemoryHooks.serve(device -> pool, null, false);
    }

    private ServedMemory serve() {
        return serve(PoolOptions.UNLIMITED);
    }

    private static NativeOps ops() {
        return NativeOpsHolder.getInstance().getDeviceNativeOps();
    }

    /** The layer stays for the frees to come; the limit lies on top of it, and both go. */
    @Test
    void limit_holdsWhileServedMemoryIsStillInUse_butNotWhileItIsServed() {
        serve();
        INDArray served = Nd4j.createUninitialized(DataType.INT8, MIB);
        assertThatThrownBy(() -> MemoryHooks.limit(AllocationLimit.NONE))
                .isInstanceOf(HookException.class)
                .hasMessageContaining("while it is served");
        MemoryHooks.stopServing();

        try (AllocationLimit limit = MemoryHooks.limit(AllocationLimit.NONE)) {
            long before = limit.liveBytes();
            limit.limit(before);
            assertThatThrownBy(() -> ops().mallocHost(1, 0)).hasMessage("std::bad_alloc");
            served.close();
            assertThat(limit.liveBytes()).isEqualTo(before - MIB);
        }
    }

    @Test
    void array_outsideWorkspaces_liesInThePoolAndComputesAsEver() {
        INDArray own = Nd4j.linspace(1, 1 << 16, 1 << 16, DataType.FLOAT).reshape(256, 256);
        ServedMemory memory = serve();

        INDArray served = own.dup();
        INDArray product = served.mmul(own.transpose()).addi(1);

        assertThat(memory.deviceStatistics().liveBytes()).isGreaterThanOrEqualTo(2L * 4 * 256 * 256);
        MemoryHooks.stopServing();
        assertThat(product).isEqualTo(own.mmul(own.transpose()).addi(1));
        served.close();
        product.close();
    }

    @Test
    void array_closed_isFreedInPoolAndBooks() {
        ServedMemory memory = serve();
        long pooled = memory.deviceStatistics().liveBytes();
        long booked = ledger.inUseBytes(MemorySpace.HOST);

        INDArray array = Nd4j.createUninitialized(DataType.FLOAT, 1 << 18);
        assertThat(memory.deviceStatistics().liveBytes() - pooled).isEqualTo(MIB);
        assertThat(ledger.inUseBytes(MemorySpace.HOST) - booked).isEqualTo(MIB);

        array.close();
        assertThat(memory.deviceStatistics().liveBytes()).isEqualTo(pooled);
        assertThat(ledger.inUseBytes(MemorySpace.HOST)).isEqualTo(booked);
    }

    @Test
    void array_expanded_keepsItsContentAndLeavesThePool() {
        ServedMemory memory = serve();
        INDArray array = Nd4j.valueArrayOf(new long[] {1000}, 7.0, DataType.FLOAT);
        long pooled = memory.deviceStatistics().liveBytes();

        array.data().reallocate(4000);

        assertThat(memory.deviceStatistics().liveBytes()).isLessThan(pooled);
        assertThat(array.data().getFloat(999)).isEqualTo(7f); // left to the collector: M1.1 does not close it
    }

    @Test
    void view_whoseParentIsForgotten_keepsItsMemory() {
        ServedMemory memory = serve();
        INDArray view =
                Nd4j.valueArrayOf(new long[] {512, 512}, 3.0, DataType.FLOAT).getRow(17);
        INDArray copy = Nd4j.valueArrayOf(new long[] {512, 512}, 5.0, DataType.FLOAT);
        long live = memory.deviceStatistics().liveBytes();
        for (int i = 0; i < 5; i++) {
            System.gc();
            Nd4j.valueArrayOf(new long[] {512, 512}, 4.0, DataType.FLOAT).close();
        }

        assertThat(live).isGreaterThanOrEqualTo(2 * MIB);
        assertThat(view.maxNumber().floatValue()).isEqualTo(3f);
        assertThat(view.minNumber().floatValue()).isEqualTo(3f);
        assertThat(copy.minNumber().floatValue()).isEqualTo(5f);
        copy.close();
    }

    @Test
    void allocation_beyondTheLimit_failsWithThePoolsFigures() {
        serve(PoolOptions.UNLIMITED.withLimit(4 * MIB));

        assertThatThrownBy(() -> Nd4j.createUninitialized(DataType.FLOAT, 2 << 20))
                .rootCause()
                .isInstanceOf(PoolExhaustedException.class)
                .hasMessageContaining("limit 4.0 MiB");
        INDArray small = Nd4j.createUninitialized(DataType.FLOAT, 1 << 18);
        assertThat(small.length()).isEqualTo(1 << 18);
        small.close();
    }

    @Test
    void allocation_whenThePoolFails_comesFromNd4j() {
        ServedMemory memory = MemoryHooks.serve(
                device -> {
                    throw new MemorySourceException("no such device");
                },
                null,
                false);

        INDArray array = Nd4j.ones(DataType.FLOAT, 100);

        assertThat(array.sumNumber().floatValue()).isEqualTo(100f);
        assertThat(memory.fallbacks()).isPositive();
    }

    @Test
    void uninstall_withLiveArrays_keepsThemValidAndGoesWithTheLast() {
        NativeOps before = belowRecording();
        serve();
        INDArray array = Nd4j.ones(DataType.FLOAT, 1 << 18);

        MemoryHooks.uninstall();

        assertThat(ops()).isInstanceOf(ServingOps.class);
        assertThat(array.sumNumber().floatValue()).isEqualTo((float) (1 << 18));
        assertThat(source.segments()).isPositive();
        array.close();
        awaitLayerGone();
        assertThat(ops()).isSameAs(before);
        assertThat(source.segments()).isZero();
    }

    @Test
    void serve_whileOlderBlocksLive_freesEachWhereItCameFrom() {
        serve();
        INDArray old = Nd4j.ones(DataType.FLOAT, 1 << 18);
        MemoryHooks.uninstall();
        HostSegments other = new HostSegments();
        MemoryHooks.install();
        MemoryPool pool = new MemoryPool(other, StreamEvents.SYNCHRONOUS, PoolOptions.UNLIMITED);
        ServedMemory memory = MemoryHooks.serve(device -> pool, null, false);

        INDArray young = old.add(1);
        assertThat(memory.deviceStatistics().liveBytes()).isGreaterThanOrEqualTo(MIB);
        MemoryHooks.stopServing();
        assertThat(young.sumNumber().floatValue()).isEqualTo((float) (1 << 19));

        young.close();
        old.close();
        awaitLayerGone();
        assertThat(source.segments()).isZero();
        assertThat(other.segments()).isZero();
        assertThat(belowRecording()).isNotInstanceOf(ServingOps.class);
    }

    @Test
    void mirror_isPageableAndBookedAsThat_freedAlsoAfterUninstall() {
        ServedMemory memory = MemoryHooks.serve(null, null, true);
        long booked = ledger.reservedBytes(MemorySpace.HOST);

        Pointer mirror = MirrorScope.run(() -> ops().mallocHost(64 * MIB, 0));
        Pointer asked = ops().mallocHost(MIB, 0);

        assertThat(memory.mirrorBytes()).isEqualTo(64 * MIB);
        assertThat(ledger.reservedBytes(MemorySpace.HOST) - booked).isEqualTo(65 * MIB);
        MemoryHooks.uninstall();
        Pointer.memset(mirror, 1, 64 * MIB);
        assertThat(ops()).isInstanceOf(ServingOps.class);
        assertThat(ops().freeHost(asked)).isEqualTo(1);
        assertThat(ops().freeHost(mirror)).isEqualTo(1);
        assertThat(memory.mirrorBytes()).isZero();
        assertThat(ops()).isNotInstanceOf(ServingOps.class);
    }

    @Test
    void pinnedPool_keepsWhatItMayAndServesItAgain() {
        MemoryPool pool = new MemoryPool(source, StreamEvents.SYNCHRONOUS, PoolOptions.UNLIMITED.withRetained(4 * MIB));
        ServedMemory memory = MemoryHooks.serve(null, device -> pool, false);

        Pointer first = ops().mallocHost(2 * MIB, 0);
        Pointer large = ops().mallocHost(32 * MIB, 0);
        long address = first.address();
        ops().freeHost(first);
        ops().freeHost(large);

        assertThat(memory.pinnedStatistics().reservedBytes()).isEqualTo(2 * MIB);
        Pointer again = ops().mallocHost(2 * MIB, 0);
        assertThat(again.address()).isEqualTo(address);
        ops().freeHost(again);
    }

    @Test
    void workspace_whileServing_worksAsEver() {
        serve();
        WorkspaceConfiguration configuration =
                WorkspaceConfiguration.builder().initialSize(MIB).build();
        for (int i = 0; i < 3; i++) {
            try (MemoryWorkspace ignored =
                    Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, "served")) {
                INDArray inside = Nd4j.ones(DataType.FLOAT, 1000);
                INDArray outside = inside.detach();
                assertThat(outside.sumNumber().floatValue()).isEqualTo(1000f);
                outside.close();
            }
        }
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
    }

    @Test
    void threads_thatAllocateAndClose_leaveNothingLive() throws Exception {
        ServedMemory memory = serve();
        long before = memory.deviceStatistics().liveBytes();
        ExecutorService threads = Executors.newFixedThreadPool(3);
        List<Future<?>> results = IntStream.range(0, 3)
                .<Future<?>>mapToObj(thread -> threads.submit(() -> work(thread)))
                .toList();
        for (Future<?> result : results) {
            result.get();
        }
        threads.shutdown();

        await(() -> memory.deviceStatistics().liveBytes() - before < MIB / 4);
        assertThat(memory.deviceStatistics().liveBytes() - before).isLessThan(MIB / 4);
    }

    private static void work(int thread) {
        for (int i = 0; i < 300; i++) {
            INDArray array = Nd4j.valueArrayOf(new long[] {1000 + i}, (double) thread, DataType.FLOAT);
            assertThat(array.maxNumber().intValue()).isEqualTo(thread);
            assertThat(array.minNumber().intValue()).isEqualTo(thread);
            array.close();
        }
    }

    private static NativeOps belowRecording() {
        NativeOpsInterposer recording = OpsFront.interposerOf(ops());
        return recording == null ? ops() : recording.target;
    }

    private static void awaitLayerGone() {
        await(() -> !(belowRecording() instanceof ServingOps));
    }

    /** Scalars that ND4J made meanwhile are served, too, and wait for the collector, whose threads then free them. */
    private static void await(BooleanSupplier condition) {
        for (int i = 0; i < 25 && !condition.getAsBoolean(); i++) {
            System.gc();
            try {
                Thread.sleep(40);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
