// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** The device must notice what a driver leaves undefined, or pool tests prove nothing. */
class SimulatedDeviceTest {
    private static final long PAGE = 1 << 20;
    private final SimulatedDevice device = new SimulatedDevice(4 * PAGE, PAGE, true);

    @Test
    void createPage_whenMemoryIsUsedUp_givesNone() {
        for (int i = 0; i < 4; i++) {
            assertThat(device.createPage()).isNotEqualTo(MemorySource.NONE);
        }
        assertThat(device.createPage()).isEqualTo(MemorySource.NONE);
    }

    @Test
    void map_twice_isMisuse() {
        long address = device.reserve(4 * PAGE);
        long page = device.createPage();
        long[] pages = {page};
        device.map(address, pages);

        assertThatThrownBy(() -> device.map(address, new long[] {device.createPage()}))
                .hasMessageContaining("map over a page");
        assertThatThrownBy(() -> device.map(address + PAGE, pages)).hasMessageContaining("map of handle");
        assertThatThrownBy(() -> device.destroyPage(page)).hasMessageContaining("destroy while mapped");
        assertThatThrownBy(() -> device.release(address, 4 * PAGE)).hasMessageContaining("release while mapped");
    }

    @Test
    void unmap_ofWhatIsNotMapped_isMisuse() {
        long address = device.reserve(4 * PAGE);
        assertThatThrownBy(() -> device.unmap(address, 1)).hasMessageContaining("not mapped");
        assertThatThrownBy(() -> device.map(address + 4 * PAGE, new long[] {device.createPage()}))
                .hasMessageContaining("outside a reservation");
    }

    @Test
    void finish_passesWhatTheStreamWasGivenBefore_andNoOther() {
        device.beBusy();
        long first = device.record(1);
        long other = device.record(2);
        long second = device.record(1);

        device.finish(second);

        assertThat(device.isDone(first)).isTrue();
        assertThat(device.isDone(other)).isFalse();
        assertThatThrownBy(() -> device.discard(other)).hasMessageContaining("unfinished");
    }

    @Test
    void finish_ofEveryStream_passesAllBefore() {
        device.beBusy();
        long before = device.record(1);
        long all = device.record(StreamEvents.EVERY_STREAM);
        long after = device.record(2);

        device.finish(all);

        assertThat(device.isDone(before)).isTrue();
        assertThat(device.isDone(after)).isFalse();
    }
}
