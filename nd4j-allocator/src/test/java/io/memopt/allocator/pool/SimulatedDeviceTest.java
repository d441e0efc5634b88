// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** The device must notice what a driver leaves undefined, or pool tests prove nothing. */
class SimulatedDeviceTest {
    private static final long PAGE = 1 << 20;
    private final SimulatedDevice device = new SimulatedDevice(4 * PAGE, PAGE, true);

    @Test
    void createExtent_whenMemoryIsUsedUp_givesNone() {
        assertThat(device.createExtent(3)).isNotNull();
        assertThat(device.createExtent(2)).isNull();
        assertThat(device.createExtent(1)).isNotNull();
        assertThat(device.createExtent(1)).isNull();
        assertThat(device.usedBytes()).isEqualTo(4 * PAGE);
    }

    @Test
    void map_twice_isMisuse() {
        long address = device.reserve(4 * PAGE);
        List<Extent> memory = List.of(extent(2));
        device.map(address, memory);

        assertThatThrownBy(() -> device.map(address + PAGE, List.of(extent(1))))
                .hasMessageContaining("map over a page");
        assertThatThrownBy(() -> device.map(address + 2 * PAGE, memory)).hasMessageContaining("map of Extent");
        assertThatThrownBy(() -> device.destroyExtent(memory.get(0))).hasMessageContaining("destroy while mapped");
        assertThatThrownBy(() -> device.release(address, 4 * PAGE)).hasMessageContaining("release while mapped");
    }

    @Test
    void unmap_ofWhatIsNotMapped_isMisuse() {
        long address = device.reserve(4 * PAGE);
        Extent extent = extent(1);
        assertThatThrownBy(() -> device.unmap(address, List.of(extent))).hasMessageContaining("not mapped");
        assertThatThrownBy(() -> device.map(address + 4 * PAGE, List.of(extent)))
                .hasMessageContaining("outside a reservation");
        device.map(address, List.of(extent));
        assertThatThrownBy(() -> device.unmap(address + PAGE, List.of(extent))).hasMessageContaining("another extent");
    }

    private Extent extent(int pages) {
        return Objects.requireNonNull(device.createExtent(pages));
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
