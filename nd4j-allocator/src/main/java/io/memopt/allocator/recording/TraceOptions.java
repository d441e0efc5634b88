// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Settings of a {@link TraceWriter}.
 *
 * @param flushInterval what is accepted reaches the operating system within this time, so a killed JVM loses no more; 1 ms
 *     to 1 h
 * @param queueBlocks full blocks (64 KiB) that may wait for the disk before events are dropped, 1..1024
 * @param maxBytes size at which recording stops, at least 64 KiB
 * @param properties further lines for the header, e.g. the version of Deeplearning4j
 */
public record TraceOptions(Duration flushInterval, int queueBlocks, long maxBytes, Map<String, String> properties) {

    private static final Duration SHORTEST = Duration.ofMillis(1);
    private static final Duration LONGEST = Duration.ofHours(1);

    /** Flush each second; a queue of 1 MiB, i.e. about 80,000 events; at most 4 GiB of file. */
    public static final TraceOptions DEFAULTS = new TraceOptions(Duration.ofSeconds(1), 16, 4L << 30, Map.of());

    public TraceOptions {
        if (flushInterval.compareTo(SHORTEST) < 0 || flushInterval.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("flushInterval=" + flushInterval + ", expected PT0.001S..PT1H");
        }
        if (queueBlocks < 1 || queueBlocks > 1024) {
            throw new IllegalArgumentException("queueBlocks=" + queueBlocks + ", expected 1..1024");
        }
        if (maxBytes < TraceFormat.BLOCK_TARGET_BYTES) {
            throw new IllegalArgumentException(
                    "maxBytes=" + maxBytes + ", expected at least " + TraceFormat.BLOCK_TARGET_BYTES);
        }
        properties = Map.copyOf(properties);
    }

    public TraceOptions withFlushInterval(Duration newInterval) {
        return new TraceOptions(newInterval, queueBlocks, maxBytes, properties);
    }

    public TraceOptions withQueueBlocks(int newBlocks) {
        return new TraceOptions(flushInterval, newBlocks, maxBytes, properties);
    }

    public TraceOptions withMaxBytes(long newBytes) {
        return new TraceOptions(flushInterval, queueBlocks, newBytes, properties);
    }

    /** The same settings with one more header line. */
    public TraceOptions withProperty(String key, String value) {
        Map<String, String> more = new LinkedHashMap<>(properties);
        more.put(key, value);
        return new TraceOptions(flushInterval, queueBlocks, maxBytes, more);
    }
}
