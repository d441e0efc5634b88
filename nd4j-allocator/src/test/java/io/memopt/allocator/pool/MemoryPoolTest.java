// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import static io.memopt.allocator.pool.StreamEvents.EVERY_STREAM;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@link MemoryPool} promises, one by one, on a simulated device. */
class MemoryPoolTest {
    private static final long MIB = 1 << 20;
    private static final long A = 1;
    private static final long B = 2;

    private SimulatedDevice device = new SimulatedDevice(256 * MIB, 2 * MIB, true);

    private MemoryPool pool(PoolOptions options) {
        return new MemoryPool(device, device, options);
    }

    private MemoryPool pool() {
        return pool(PoolOptions.UNLIMITED);
    }

    @Test
    void allocate_afterFreeOnTheSameStream_reusesAtOnceWithoutTheDriver() {
        device.beBusy();
        MemoryPool pool = pool();
        long first = pool.allocate(MIB, A);
        pool.free(first, A);
        long calls = device.calls().total();

        assertThat(pool.allocate(MIB, A)).isEqualTo(first);
        assertThat(device.calls().total()).isEqualTo(calls);
        assertThat(pool.statistics().waits()).isZero();
    }

    @Test
    void allocate_afterFreeOnAnotherStream_waitsForItsEvent() {
        device.beBusy();
        MemoryPool pool = pool();
        long first = pool.allocate(4 * MIB, A);
        pool.free(first, A);

        assertThat(pool.allocate(4 * MIB, B)).isEqualTo(first);
        assertThat(pool.statistics().waits()).isEqualTo(1);
    }

    @Test
    void allocate_afterTheDevicePassedTheFree_doesNotWait() {
        MemoryPool pool = pool();
        long first = pool.allocate(4 * MIB, A);
        pool.free(first, A);

        assertThat(pool.allocate(4 * MIB, B)).isEqualTo(first);
        assertThat(pool.statistics().waits()).isZero();
    }

    @Test
    void allocate_onEveryStream_neverTakesWhatIsHeld() {
        device.beBusy();
        MemoryPool pool = pool();
        long first = pool.allocate(4 * MIB, EVERY_STREAM);
        pool.free(first, EVERY_STREAM);

        assertThat(pool.allocate(4 * MIB, EVERY_STREAM)).isEqualTo(first);
        assertThat(pool.statistics().waits()).isEqualTo(1);
    }

    @Test
    void allocate_ofALargerBlockThanWasFreed_growsInPlace() {
        MemoryPool pool = pool();
        long kept = pool.allocate(6 * MIB, A);
        long workspace = pool.allocate(20 * MIB, A);
        pool.free(workspace, A);
        device.finishAll();

        long grown = pool.allocate(50 * MIB, B);

        assertThat(grown).isEqualTo(workspace);
        assertThat(pool.statistics().reservedPeakBytes()).isEqualTo(56 * MIB);
        assertThat(pool.free(kept, A)).isTrue();
    }

    @Test
    void allocate_whenFragmentsAddUp_movesTheirPages() {
        MemoryPool pool = pool(PoolOptions.UNLIMITED.withLimit(40 * MIB));
        long[] blocks = new long[20];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = pool.allocate(2 * MIB, A);
        }
        for (int i = 0; i < blocks.length; i += 2) {
            pool.free(blocks[i], A);
        }

        long whole = pool.allocate(20 * MIB, B);

        assertThat(device.isBacked(whole, 20 * MIB)).isTrue();
        assertThat(pool.statistics().reservedBytes()).isEqualTo(40 * MIB);
    }

    @Test
    void allocate_ofALargeBlock_takesFewCallsOfTheDriver() {
        device = new SimulatedDevice(8192 * MIB, 2 * MIB, true);
        MemoryPool pool = pool();

        long block = pool.allocate(4096 * MIB, A);

        assertThat(device.isBacked(block, 4096 * MIB)).isTrue();
        assertThat(device.usedBytes()).isEqualTo(4096 * MIB);
        assertThat(device.calls().total()).isLessThan(4096 / 32 + 10);
    }

    @Test
    void allocate_whenLargeExtentsAreFragments_movesThemAsAWhole() {
        device = new SimulatedDevice(1024 * MIB, 2 * MIB, true);
        MemoryPool pool = pool();
        long[] kept = new long[4];
        long[] gone = new long[4];
        for (int i = 0; i < kept.length; i++) {
            gone[i] = pool.allocate(200 * MIB, A);
            kept[i] = pool.allocate(6 * MIB, A);
        }
        for (long block : gone) {
            pool.free(block, A);
        }

        long whole = pool.allocate(780 * MIB, B);

        assertThat(device.isBacked(whole, 780 * MIB)).isTrue();
        for (long block : kept) {
            assertThat(device.isBacked(block, 6 * MIB)).isTrue();
        }
        pool.free(whole, B);
        pool.trim();
        assertThat(pool.statistics().reservedBytes())
                .isEqualTo(device.usedBytes())
                .isLessThanOrEqualTo(24 * MIB + 4 * 32 * MIB);
    }

    @Test
    void free_ofNeighbours_makesOneBlock() {
        MemoryPool pool = pool();
        long left = pool.allocate(3 * MIB, A);
        long middle = pool.allocate(3 * MIB, A);
        long right = pool.allocate(4 * MIB, A);
        pool.free(left, A);
        pool.free(right, A);
        pool.free(middle, A);
        long calls = device.calls().total();

        assertThat(pool.allocate(10 * MIB, A)).isEqualTo(left);
        assertThat(device.calls().total()).isEqualTo(calls);
    }

    @Test
    void allocate_ofSmallBlocks_sharesOneSlab() {
        MemoryPool pool = pool();
        for (int i = 0; i < 1000; i++) {
            pool.allocate(1 + i, A);
        }
        assertThat(pool.statistics().reservedBytes()).isEqualTo(MemoryPool.SLAB_BYTES);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void allocate_beyondTheLimit_saysWhoHoldsWhat(boolean pages) {
        device = new SimulatedDevice(256 * MIB, 2 * MIB, pages);
        MemoryPool pool = pool(PoolOptions.UNLIMITED.withLimit(32 * MIB));
        long block = pool.allocate(20 * MIB, A);

        assertThatThrownBy(() -> pool.allocate(20 * MIB, A))
                .isInstanceOf(PoolExhaustedException.class)
                .hasMessageStartingWith("Failed to allocate 20.0 MiB (20971520 B) from memory pool " + device.name())
                .hasMessageContaining("in use 20.0 MiB (20971520 B) in 1 block")
                .hasMessageContaining("limit 32.0 MiB (33554432 B)");
        assertThat(device.usedBytes()).isLessThanOrEqualTo(32 * MIB);
        pool.free(block, A);
        assertThat(pool.allocate(32 * MIB, B)).isNotZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void allocate_whenTheDeviceRefuses_leavesThePoolAsItWas(boolean pages) {
        device = new SimulatedDevice(256 * MIB, 2 * MIB, pages);
        MemoryPool pool = pool();
        long block = pool.allocate(8 * MIB, A);
        device.failNext(1000);

        assertThatThrownBy(() -> pool.allocate(16 * MIB, A))
                .isInstanceOf(PoolExhaustedException.class)
                .hasMessageContaining("the device has no more");

        device.failNext(0);
        assertThat(pool.allocate(16 * MIB, A)).isNotZero();
        assertThat(pool.statistics().reservedBytes()).isEqualTo(24 * MIB).isEqualTo(device.usedBytes());
        assertThat(pool.owns(block)).isTrue();
    }

    @Test
    void allocate_whenTheDeviceRefusesHalfway_keepsPagesForTheNext() {
        MemoryPool pool = pool();
        pool.allocate(2 * MIB, A);
        SimulatedDevice small = new SimulatedDevice(8 * MIB, 2 * MIB, true);
        MemoryPool full = new MemoryPool(small, small, PoolOptions.UNLIMITED);
        assertThatThrownBy(() -> full.allocate(10 * MIB, A)).isInstanceOf(PoolExhaustedException.class);

        assertThat(full.allocate(8 * MIB, A)).isNotZero();
        assertThat(small.usedBytes()).isEqualTo(8 * MIB);
    }

    @Test
    void allocate_whenMappingFails_losesNoPage() {
        MemoryPool pool = pool();
        long fragment = pool.allocate(6 * MIB, A);
        pool.allocate(2 * MIB, A);
        pool.free(fragment, A);
        device.failNextMaps(1);

        assertThatThrownBy(() -> pool.allocate(20 * MIB, B)).isInstanceOf(MemorySourceException.class);
        assertThat(pool.statistics().reservedBytes()).isEqualTo(device.usedBytes());

        long block = pool.allocate(20 * MIB, B);
        assertThat(device.isBacked(block, 20 * MIB)).isTrue();
        pool.free(block, B);
        pool.trim();
        assertThat(device.usedBytes()).isEqualTo(2 * MIB);
    }

    @Test
    void free_withABoundOnWhatIsKept_givesTheRestBack() {
        MemoryPool pool = pool(PoolOptions.UNLIMITED.withRetained(4 * MIB));
        long first = pool.allocate(16 * MIB, A);
        long second = pool.allocate(16 * MIB, A);
        pool.free(first, A);
        pool.free(second, A);

        assertThat(device.usedBytes()).isEqualTo(4 * MIB);
    }

    @Test
    void trim_keepsLiveBlocks() {
        MemoryPool pool = pool();
        long gone = pool.allocate(16 * MIB, A);
        long small = pool.allocate(100, A);
        long kept = pool.allocate(5 * MIB, A);
        pool.free(gone, A);

        pool.trim();

        assertThat(device.isBacked(kept, 5 * MIB)).isTrue();
        assertThat(device.isBacked(small, 512)).isTrue();
        assertThat(device.usedBytes()).isEqualTo(8 * MIB);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void close_withLiveBlocks_keepsTheirMemoryUntilTheyAreFreed(boolean pages) {
        device = new SimulatedDevice(256 * MIB, 2 * MIB, pages);
        MemoryPool pool = pool();
        long gone = pool.allocate(16 * MIB, A);
        long kept = pool.allocate(4 * MIB, A);
        pool.free(gone, A);

        pool.close();
        assertThat(device.isBacked(kept, 4 * MIB)).isTrue();
        assertThat(device.usedBytes()).isEqualTo(4 * MIB);
        assertThatThrownBy(() -> pool.allocate(1, A)).isInstanceOf(IllegalStateException.class);

        pool.free(kept, EVERY_STREAM);
        assertThat(device.usedBytes()).isZero();
    }

    @Test
    void free_ofWhatIsNotLive_isRefused() {
        MemoryPool pool = pool();
        long block = pool.allocate(100, A);
        assertThat(pool.free(block + 1, A)).isFalse();
        assertThat(pool.free(block, A)).isTrue();
        assertThat(pool.free(block, A)).isFalse();
    }

    @Test
    void rounded_ofImpossibleSizes_isRefused() {
        assertThat(MemoryPool.rounded(1)).isEqualTo(512);
        assertThat(MemoryPool.rounded(513)).isEqualTo(1024);
        assertThatThrownBy(() -> MemoryPool.rounded(0)).hasMessageContaining("bytes=0");
        assertThatThrownBy(() -> MemoryPool.rounded(Long.MAX_VALUE)).isInstanceOf(IllegalArgumentException.class);
    }

    /** A mark covers many frees and is made before they are needed: the device has time, and no allocation waits for it. */
    @Test
    void allocate_onEveryStreamWithRoom_neitherWaitsNorMarksEachFree() {
        LateEvents events = new LateEvents(20);
        MemoryPool pool = new MemoryPool(device, events, PoolOptions.UNLIMITED);
        pool.free(pool.allocate(64 * MIB, EVERY_STREAM), EVERY_STREAM);
        pool.free(pool.allocate(MIB, EVERY_STREAM), EVERY_STREAM);
        long calls = device.calls().total();
        long waits = pool.statistics().waits();
        int recorded = events.recorded;

        int rounds = 6400;
        for (int i = 0; i < rounds; i++) {
            pool.free(pool.allocate(MIB, EVERY_STREAM), EVERY_STREAM);
            events.now++;
        }

        assertThat(pool.statistics().waits()).isEqualTo(waits);
        assertThat(device.calls().total()).isEqualTo(calls);
        assertThat(events.recorded - recorded).isLessThanOrEqualTo(rounds / 16);
    }

    @Test
    void allocate_whileMemoryGrowsLittleByLittle_asksTheDeviceSeldom() {
        device = new SimulatedDevice(4096 * MIB, 2 * MIB, true);
        MemoryPool pool = pool();
        pool.allocate(1000 * MIB, EVERY_STREAM);
        int asked = 0;
        for (int step = 0; step < 100; step++) {
            long calls = device.calls().total();
            pool.allocate(3 * MIB, EVERY_STREAM);
            asked += device.calls().total() > calls ? 1 : 0;
        }

        assertThat(asked).isLessThanOrEqualTo(25);
        assertThat(pool.statistics().reservedPeakBytes()).isLessThanOrEqualTo(1300L * MIB * 105 / 100);
    }

    /** The device gets to an event so many moments after it was recorded, or when someone waits. */
    private static final class LateEvents implements StreamEvents {
        private final long delay;
        private final Map<Long, Long> due = new HashMap<>();
        private long now;
        private int recorded;

        LateEvents(long delay) {
            this.delay = delay;
        }

        @Override
        public long record(long stream) {
            recorded++;
            due.put((long) recorded, now + delay);
            return recorded;
        }

        @Override
        public boolean isDone(long event) {
            return due.get(event) <= now;
        }

        @Override
        public void await(long event) {
            now = Math.max(now, due.get(event));
        }

        @Override
        public void discard(long event) {
            due.remove(event);
        }
    }
}
