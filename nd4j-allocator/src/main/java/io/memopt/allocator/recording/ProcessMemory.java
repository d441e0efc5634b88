// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.MemoryType;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;

/**
 * What the operating system and the JVM say about this process, at one moment.
 *
 * @param residentBytes physical memory that the process occupies (VmRSS); absent where {@code /proc} is
 * @param heapCommittedBytes Java heap that the JVM may use without asking again. An upper bound of what is resident:
 *     pages never touched are committed and take no physical memory
 * @param heapTouchedBytes part of it that was ever used: the largest use of each heap pool, summed, at most the committed
 *     size. What the collector moved through several regions may be counted twice, pages given back are still in it
 * @param nonHeapCommittedBytes metaspace, code cache and the like; without thread stacks and the collector's own tables
 * @param directBufferBytes {@link java.nio.ByteBuffer#allocateDirect}; arrays of ND4J are no part of it
 * @param mappedBufferBytes files mapped into memory; how much of them is resident is not known
 */
public record ProcessMemory(
        OptionalLong residentBytes,
        long heapCommittedBytes,
        long heapTouchedBytes,
        long nonHeapCommittedBytes,
        long directBufferBytes,
        long mappedBufferBytes) {

    private static final long KIBIBYTE = 1024;
    private static final Path STATUS = Path.of("/proc/self/status");

    /** Reads the figures now: one small file and three JMX beans, well below a millisecond. */
    public static ProcessMemory now() {
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        long committed = memory.getHeapMemoryUsage().getCommitted();
        return new ProcessMemory(
                residentBytes(STATUS),
                committed,
                Math.min(committed, heapPeaks()),
                memory.getNonHeapMemoryUsage().getCommitted(),
                buffers("direct"),
                buffers("mapped"));
    }

    /**
     * Resident bytes that nothing accounts for: native temporaries, memory the C allocator keeps, thread stacks, the
     * JVM's own structures, libraries. An estimate, cut off at 0: known off-heap memory is subtracted in full, touched or
     * not, and of the heap what was ever used; with {@code -XX:+AlwaysPreTouch -Xms=-Xmx} the heap part is exact.
     *
     * @param knownOffHeapBytes reserved host and pinned memory by the books; not device memory
     * @return absent where the resident size is
     */
    public OptionalLong unattributedBytes(long knownOffHeapBytes) {
        if (residentBytes.isEmpty()) {
            return OptionalLong.empty();
        }
        return OptionalLong.of(Math.max(0, residentBytes.getAsLong() - javaBytes() - knownOffHeapBytes));
    }

    /** What the JVM itself explains of the resident bytes: touched heap, other committed memory, direct buffers. */
    public long javaBytes() {
        return heapTouchedBytes + nonHeapCommittedBytes + directBufferBytes;
    }

    /** The resident bytes alone; one small file. */
    public static OptionalLong residentNow() {
        return residentBytes(STATUS);
    }

    static OptionalLong residentBytes(Path status) {
        try {
            return kibibytesAfter("VmRSS:", Files.readString(status, StandardCharsets.ISO_8859_1));
        } catch (IOException | NumberFormatException e) {
            // Not Linux, or /proc is not mounted: the figure is absent, as documented.
        }
        return OptionalLong.empty();
    }

    /** The figure after {@code name} in one of the system's tables, which end lines with kB; in bytes, empty when it is not there. */
    static OptionalLong kibibytesAfter(String name, String table) {
        int begin = table.indexOf(name);
        int end = begin < 0 ? -1 : table.indexOf(" kB", begin);
        return end < 0
                ? OptionalLong.empty()
                : OptionalLong.of(Long.parseLong(
                                table.substring(begin + name.length(), end).strip())
                        * KIBIBYTE);
    }

    private static long heapPeaks() {
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getType() == MemoryType.HEAP)
                .mapToLong(pool -> pool.getPeakUsage().getUsed())
                .sum();
    }

    private static long buffers(String pool) {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(bean -> bean.getName().equals(pool))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .filter(bytes -> bytes > 0)
                .sum();
    }
}
