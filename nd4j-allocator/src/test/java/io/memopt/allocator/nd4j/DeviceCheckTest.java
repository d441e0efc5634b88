// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.factory.Nd4j;

class DeviceCheckTest {
    @Test
    void deviceThatComputes_hasNoProblem() {
        assertThat(DeviceCheck.problem()).isEmpty();
    }

    /** A kernel that does nothing leaves its result as it was; one that cannot be started may throw. */
    @Test
    void operationsThatDoNothing_areNamed_withWhatToDo() {
        DeviceCheck.Probe right = new DeviceCheck.Probe("right", () -> Nd4j.createFromArray(1f, 2f), List.of(1f, 2f));
        DeviceCheck.Probe idle = new DeviceCheck.Probe("idle", () -> Nd4j.zeros(DataType.FLOAT, 2), List.of(1f, 2f));
        DeviceCheck.Probe absent = new DeviceCheck.Probe(
                "absent",
                () -> {
                    throw new IllegalStateException("no kernel image");
                },
                List.of(1f));

        List<DeviceCheck.Probe> wrong = DeviceCheck.wrong(List.of(right, idle, absent));

        assertThat(wrong).containsExactly(idle, absent);
        assertThat(DeviceCheck.describe("Device 0 (Any, sm_90)", wrong, 3))
                .startsWith("Device 0 (Any, sm_90) computes garbage: 2 of 3 operations")
                .contains("(idle, absent)", "CPU backend");
    }
}
