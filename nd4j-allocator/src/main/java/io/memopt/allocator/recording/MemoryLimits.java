// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.Properties;

/**
 * The limits that this process runs into, whoever set them. An absent limit is not in force or not known.
 *
 * @param physicalBytes memory of the machine
 * @param containerBytes limit of the control group; beyond it the kernel kills the process without a Java error
 * @param heapBytes {@code -Xmx} or its default
 * @param javacppMaxBytes {@code org.bytedeco.javacpp.maxbytes}: bounds what JavaCPP itself allocated. ND4J's arrays and
 *     workspaces are <b>not</b> among it
 * @param javacppMaxPhysicalBytes {@code org.bytedeco.javacpp.maxphysicalbytes}: JavaCPP refuses its next allocation, however
 *     small, when the resident size of the whole process, Java heap included, exceeds this
 */
public record MemoryLimits(
        OptionalLong physicalBytes,
        OptionalLong containerBytes,
        OptionalLong heapBytes,
        OptionalLong javacppMaxBytes,
        OptionalLong javacppMaxPhysicalBytes) {

    private static final String MAX_BYTES = "org.bytedeco.javacpp.maxbytes";
    private static final String MAX_PHYSICAL_BYTES = "org.bytedeco.javacpp.maxphysicalbytes";
    /** Room for thread stacks, libraries and native temporaries in the values that are recommended. */
    private static final long HEADROOM_BYTES = 256L << 20;

    /**
     * Reads the limits. JavaCPP's are derived from the system properties by the rules of JavaCPP 1.5.7 without loading it;
     * after a change at run time, or with another version, correct them by {@link #withJavacpp}.
     */
    public static MemoryLimits current() {
        return of(
                Path.of("/proc"),
                Path.of("/sys/fs/cgroup"),
                Runtime.getRuntime().maxMemory(),
                System.getProperties());
    }

    static MemoryLimits of(Path proc, Path cgroups, long heapMax, Properties properties) {
        long maxBytes = javacpp(properties, MAX_BYTES, "org.bytedeco.javacpp.maxBytes", heapMax, heapMax);
        long byDefault = maxBytes > 0 ? maxBytes + 3 * heapMax : 0;
        long maxPhysical =
                javacpp(properties, MAX_PHYSICAL_BYTES, "org.bytedeco.javacpp.maxPhysicalBytes", heapMax, byDefault);
        OptionalLong physical = physical(proc.resolve("meminfo"));
        OptionalLong container = ContainerLimit.bytes(proc.resolve("self/cgroup"), cgroups);
        if (physical.isPresent() && container.isPresent() && container.getAsLong() >= physical.getAsLong()) {
            container = OptionalLong.empty();
        }
        OptionalLong heap = heapMax == Long.MAX_VALUE ? OptionalLong.empty() : OptionalLong.of(heapMax);
        return new MemoryLimits(physical, container, heap, OptionalLong.empty(), OptionalLong.empty())
                .withJavacpp(maxBytes, maxPhysical);
    }

    /** The same limits with the figures that JavaCPP itself gives, e.g. {@code Pointer.maxBytes()}; 0 is "no limit". */
    public MemoryLimits withJavacpp(long maxBytes, long maxPhysicalBytes) {
        return new MemoryLimits(
                physicalBytes, containerBytes, heapBytes, positive(maxBytes), positive(maxPhysicalBytes));
    }

    /**
     * Combinations that make training fail although memory is left, or end without an error, each with the numbers and
     * the remedy. Empty when nothing is wrong.
     *
     * @param knownOffHeapBytes reserved host and pinned memory by the books, now or at most; 0 when not known yet
     */
    public List<String> warnings(long knownOffHeapBytes) {
        List<String> warnings = new ArrayList<>();
        long heap = heapBytes.orElse(0);
        long need = heap + knownOffHeapBytes;
        String demand = "-Xmx " + ByteSize.format(heap) + " + known off-heap memory "
                + ByteSize.format(knownOffHeapBytes) + " = " + ByteSize.format(need);
        if (exceeds(need, javacppMaxPhysicalBytes)) {
            warnings.add("JavaCPP's physical cap " + ByteSize.format(javacppMaxPhysicalBytes.getAsLong())
                    + " does not exceed " + demand
                    + ". The cap counts the whole process, Java heap included: once the heap"
                    + " has grown, any allocation is refused, however small. Raise it: -D" + MAX_PHYSICAL_BYTES + "="
                    + mebibytes(recommended(need)) + "m or more (0 switches it off), or lower -Xmx.");
        }
        if (exceeds(need, containerBytes)) {
            warnings.add("The container's limit " + ByteSize.format(containerBytes.getAsLong()) + " does not exceed "
                    + demand + ". Beyond the limit the kernel kills the process without a Java error. Raise the"
                    + " container's limit to " + ByteSize.scaled(recommended(need)) + " or more, or lower -Xmx.");
        } else if (exceeds(need, physicalBytes)) {
            warnings.add(
                    "This machine's memory " + ByteSize.format(physicalBytes.getAsLong()) + " does not exceed " + demand
                            + ". It will swap, or the kernel will kill a process. Lower -Xmx, or use a smaller batch.");
        }
        boolean maxBytesIsChosen = javacppMaxBytes.isPresent() && !javacppMaxBytes.equals(heapBytes);
        if (javacppMaxPhysicalBytes.isEmpty() && maxBytesIsChosen) {
            warnings.add("-D" + MAX_BYTES + " " + ByteSize.format(javacppMaxBytes.getAsLong())
                    + " does not bound ND4J's arrays and workspaces, and the physical cap, which does, is off (known"
                    + " off-heap memory now " + ByteSize.format(knownOffHeapBytes) + "). Set -D" + MAX_PHYSICAL_BYTES
                    + "=" + mebibytes(recommended(need)) + "m or more to bound the whole process.");
        }
        return List.copyOf(warnings);
    }

    /** A quarter more than is known to be needed, and at least {@link #HEADROOM_BYTES}. */
    private static long recommended(long need) {
        return need + Math.max(HEADROOM_BYTES, need / 4);
    }

    private static long mebibytes(long bytes) {
        return (bytes + (1 << 20) - 1) >> 20;
    }

    private static boolean exceeds(long need, OptionalLong limit) {
        return limit.isPresent() && limit.getAsLong() <= need;
    }

    private static OptionalLong positive(long bytes) {
        return bytes > 0 && bytes < Long.MAX_VALUE ? OptionalLong.of(bytes) : OptionalLong.empty();
    }

    private static long javacpp(Properties properties, String name, String oldName, long heapMax, long byDefault) {
        String text = properties.getProperty(oldName, properties.getProperty(name, ""));
        try {
            return text.isEmpty() ? byDefault : parse(text, heapMax);
        } catch (NumberFormatException e) {
            return byDefault; // JavaCPP itself refuses to load with such a value and says so
        }
    }

    /** As {@code Pointer.parseBytes}: digits and an optional t, g, m, k (with or without b) or % of the largest heap. */
    private static long parse(String text, long heapMax) {
        int end = 0;
        while (end < text.length() && Character.isDigit(text.charAt(end))) {
            end++;
        }
        long number = Long.parseLong(text.substring(0, end));
        String unit = text.substring(end).trim().toLowerCase(Locale.ROOT);
        return switch (unit) {
            case "" -> number;
            case "%" -> number * heapMax / 100;
            case "k", "kb" -> number << 10;
            case "m", "mb" -> number << 20;
            case "g", "gb" -> number << 30;
            case "t", "tb" -> number << 40;
            default -> throw new NumberFormatException(text);
        };
    }

    private static OptionalLong physical(Path meminfo) {
        try {
            for (String line : Files.readAllLines(meminfo, StandardCharsets.ISO_8859_1)) {
                if (line.startsWith("MemTotal:")) {
                    return OptionalLong.of(Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024);
                }
            }
        } catch (IOException | NumberFormatException e) {
            // Not Linux: ask the JVM, which knows no difference between machine and container.
        }
        return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean bean
                ? positive(bean.getTotalMemorySize())
                : OptionalLong.empty();
    }
}
