// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryLimitsTest {
    private static final long MIB = 1 << 20;
    private static final long GIB = 1 << 30;

    @TempDir
    Path root;

    @Test
    void current_onThisMachine_knowsHeapAndMemory() {
        MemoryLimits limits = MemoryLimits.current();

        assertThat(limits.heapBytes()).hasValue(Runtime.getRuntime().maxMemory());
        assertThat(limits.physicalBytes()).isPresent();
    }

    @Test
    void of_withoutProperties_takesDefaultsOfJavacpp() throws IOException {
        MemoryLimits limits = limits(GIB, new Properties());

        assertThat(limits.javacppMaxBytes()).hasValue(GIB);
        assertThat(limits.javacppMaxPhysicalBytes()).hasValue(4 * GIB);
        assertThat(limits.physicalBytes()).hasValue(16 * GIB);
        assertThat(limits.warnings(0)).isEmpty();
    }

    @Test
    void of_withProperties_readsUnitsAndOldNames() throws IOException {
        Properties properties = new Properties();
        properties.setProperty("org.bytedeco.javacpp.maxbytes", "256m");
        properties.setProperty("org.bytedeco.javacpp.maxPhysicalBytes", "150%");
        MemoryLimits limits = limits(GIB, properties);

        assertThat(limits.javacppMaxBytes()).hasValue(256 * MIB);
        assertThat(limits.javacppMaxPhysicalBytes()).hasValue(3 * GIB / 2);
    }

    @Test
    void of_withZero_hasNoLimit() throws IOException {
        Properties properties = new Properties();
        properties.setProperty("org.bytedeco.javacpp.maxbytes", "0");
        MemoryLimits limits = limits(GIB, properties);

        assertThat(limits.javacppMaxBytes()).isEmpty();
        assertThat(limits.javacppMaxPhysicalBytes()).isEmpty();
    }

    /** Case P12: -Xmx1g maxbytes=1g maxphysicalbytes=1g, tensors until failure. */
    @Test
    void warnings_whenPhysicalCapIsBelowHeapAndOffHeap_namesAllNumbersAndTheRemedy() throws IOException {
        Properties properties = new Properties();
        properties.setProperty("org.bytedeco.javacpp.maxbytes", "1g");
        properties.setProperty("org.bytedeco.javacpp.maxphysicalbytes", "1g");

        assertThat(limits(GIB, properties).warnings(960 * MIB))
                .singleElement()
                .asString()
                .contains("1.00 GiB (1073741824 B)", "960.0 MiB (1006632960 B)", "1.94 GiB (2080374784 B)")
                .contains("-Dorg.bytedeco.javacpp.maxphysicalbytes=2480m", "lower -Xmx");
    }

    @Test
    void warnings_whenPhysicalCapEqualsHeap_warnsBeforeAnyOffHeapMemoryIsKnown() throws IOException {
        Properties properties = new Properties();
        properties.setProperty("org.bytedeco.javacpp.maxphysicalbytes", "1g");

        assertThat(limits(GIB, properties).warnings(0)).hasSize(1);
    }

    /** Case P12, second half: maxbytes alone bounds nothing of ND4J. */
    @Test
    void warnings_whenOnlyMaxBytesIsSet_saysThatItBoundsNothing() throws IOException {
        Properties properties = new Properties();
        properties.setProperty("org.bytedeco.javacpp.maxbytes", "256m");
        properties.setProperty("org.bytedeco.javacpp.maxphysicalbytes", "0");

        assertThat(limits(GIB, properties).warnings(1280 * MIB))
                .singleElement()
                .asString()
                .contains("256.0 MiB (268435456 B)", "does not bound", "1.25 GiB (1342177280 B)");
    }

    @Test
    void warnings_whenOnlyTheCapIsSwitchedOff_takesItForMeant() throws IOException {
        Properties properties = new Properties();
        properties.setProperty("org.bytedeco.javacpp.maxphysicalbytes", "0");

        assertThat(limits(GIB, properties).warnings(1280 * MIB)).isEmpty();
    }

    @Test
    void warnings_whenContainerIsTooSmall_saysThatTheKernelKills() throws IOException {
        write("sys/memory/memory.limit_in_bytes", 2 * GIB + "\n");
        write("proc/self/cgroup", "4:memory:/not/visible/here\n");

        assertThat(limits(GIB, new Properties()).warnings(3 * GIB / 2))
                .singleElement()
                .asString()
                .contains("container's limit 2.00 GiB (2147483648 B)", "kills");
    }

    @Test
    void withJavacpp_replacesWhatWasDerived() throws IOException {
        MemoryLimits limits = limits(GIB, new Properties()).withJavacpp(5, 0);

        assertThat(limits.javacppMaxBytes()).hasValue(5);
        assertThat(limits.javacppMaxPhysicalBytes()).isEmpty();
    }

    @Test
    void container_version2_takesSmallestOfParents() throws IOException {
        write("proc/self/cgroup", "0::/a/b\n");
        write("sys/a/b/memory.max", "max\n");
        write("sys/a/memory.max", 3 * GIB + "\n");

        assertThat(container()).hasValue(3 * GIB);
    }

    @Test
    void container_version1Unlimited_isAbsent() throws IOException {
        write("proc/self/cgroup", "5:cpu,memory:/\n0::/\n");
        write("sys/memory/memory.limit_in_bytes", "9223372036854771712\n");

        assertThat(container()).isEmpty();
    }

    @Test
    void container_withoutControlGroups_isAbsent() {
        assertThat(container()).isEmpty();
    }

    private OptionalLong container() {
        return ContainerLimit.bytes(root.resolve("proc/self/cgroup"), root.resolve("sys"));
    }

    private MemoryLimits limits(long heapMax, Properties properties) throws IOException {
        write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
        return MemoryLimits.of(root.resolve("proc"), root.resolve("sys"), heapMax, properties);
    }

    private void write(String path, String text) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
