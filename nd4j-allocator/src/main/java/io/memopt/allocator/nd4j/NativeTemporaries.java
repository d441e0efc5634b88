// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.nd4j.linalg.api.ops.CustomOpDescriptor;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What custom operations allocate inside the native library and free before they return, which no hook can see. Linux
 * tells the largest resident size of a process and lets it be reset, so the difference around one call is the peak of
 * that call: output pages touched for the first time, and temporaries.
 *
 * <p>A diagnostic, off by default: half a millisecond for each operation, meaningful only while one thread computes, and
 * it resets the process' {@code VmHWM}. Legacy operations (element-wise, reductions) are not looked at.
 */
public final class NativeTemporaries {
    private static final Logger log = LoggerFactory.getLogger(NativeTemporaries.class);
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path CLEAR = Path.of("/proc/self/clear_refs");

    /** See proc(5): resets the peak resident set size to the current value. */
    private static final byte[] RESET_PEAK = {'5'};

    private final Map<Long, long[]> byHash = new ConcurrentHashMap<>();
    private volatile boolean broken;

    NativeTemporaries() {}

    /**
     * One operation.
     *
     * @param operation ND4J's name, e.g. {@code conv2d}
     * @param calls times it ran while this was on
     * @param peakBytes largest growth of the resident size during one call
     */
    public record OperationPeak(String operation, long calls, long peakBytes) {}

    /** Largest first. */
    public List<OperationPeak> peaks() {
        Map<Long, String> names = new ConcurrentHashMap<>();
        for (Map.Entry<String, CustomOpDescriptor> operation :
                Nd4j.getExecutioner().getCustomOperations().entrySet()) {
            names.put(operation.getValue().getHash(), operation.getKey());
        }
        return byHash.entrySet().stream()
                .map(e -> new OperationPeak(
                        names.getOrDefault(e.getKey(), "operation " + e.getKey()), e.getValue()[0], e.getValue()[1]))
                .sorted(Comparator.comparingLong(OperationPeak::peakBytes).reversed())
                .toList();
    }

    /** Resident bytes before a call, or -1 when the system does not tell. */
    long before() {
        if (broken) {
            return -1;
        }
        try {
            Files.write(CLEAR, RESET_PEAK);
            return read("VmRSS:");
        } catch (IOException | RuntimeException e) {
            broken = true;
            log.warn("Native temporaries cannot be measured here: {}", e.toString());
            return -1;
        }
    }

    void after(long hash, long before) {
        if (before < 0) {
            return;
        }
        try {
            long grown = Math.max(0, read("VmHWM:") - before);
            byHash.compute(
                    hash,
                    (key, known) -> known == null
                            ? new long[] {1, grown}
                            : new long[] {known[0] + 1, Math.max(known[1], grown)});
        } catch (IOException | RuntimeException e) {
            broken = true;
        }
    }

    private static long read(String field) throws IOException {
        for (String line : Files.readAllLines(STATUS, StandardCharsets.ISO_8859_1)) {
            if (line.startsWith(field)) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        throw new IOException(STATUS + " has no " + field);
    }
}
