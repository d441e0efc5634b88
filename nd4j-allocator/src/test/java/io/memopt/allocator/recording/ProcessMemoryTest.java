// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class ProcessMemoryTest {

    @Test
    @EnabledOnOs(OS.LINUX)
    void now_onLinux_givesPlausibleFigures() {
        ProcessMemory now = ProcessMemory.now();

        assertThat(now.residentBytes()).isPresent();
        assertThat(now.residentBytes().getAsLong()).isBetween(10L << 20, 1L << 40);
        assertThat(now.heapCommittedBytes()).isPositive();
        assertThat(now.nonHeapCommittedBytes()).isPositive();
    }

    @Test
    void residentBytes_readsKibibytes(@TempDir Path directory) throws IOException {
        Path status = directory.resolve("status");
        Files.writeString(status, "Name:\tjava\nVmHWM:\t  900 kB\nVmRSS:\t  700 kB\n");

        assertThat(ProcessMemory.residentBytes(status)).hasValue(700 * 1024);
    }

    @Test
    void residentBytes_withoutProc_isAbsent(@TempDir Path directory) {
        assertThat(ProcessMemory.residentBytes(directory.resolve("none"))).isEmpty();
    }

    @Test
    void unattributedBytes_subtractsAllThatIsKnown() {
        ProcessMemory memory = new ProcessMemory(OptionalLong.of(1000), 400, 300, 100, 50, 7);

        assertThat(memory.unattributedBytes(200)).hasValue(350);
    }

    @Test
    void unattributedBytes_whenCommittedHeapIsNotTouched_isZeroNotNegative() {
        ProcessMemory memory = new ProcessMemory(OptionalLong.of(1000), 3000, 3000, 100, 0, 0);

        assertThat(memory.unattributedBytes(0)).hasValue(0);
    }

    @Test
    void unattributedBytes_withoutResident_isAbsent() {
        assertThat(new ProcessMemory(OptionalLong.empty(), 1, 1, 1, 0, 0).unattributedBytes(0))
                .isEmpty();
    }
}
