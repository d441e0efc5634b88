// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import com.sun.management.GarbageCollectorMXBean;
import com.sun.management.GcInfo;
import java.lang.management.ManagementFactory;
import java.util.OptionalLong;

/** When the JVM last looked at its whole heap: what was there before and is still there is referred to by something. */
public final class FullCollections {
    private static final long NANOS_PER_MILLI = 1_000_000;
    /** ND4J frees what was found dead on threads of its own, which takes a moment. */
    private static final long SETTLING_MILLIS = 1000;

    private FullCollections() {}

    /**
     * {@link System#nanoTime()} at which the last full collection began, to a millisecond. One that ended less than a
     * second ago does not count yet.
     *
     * @return absent when there was none, or the JVM does not tell
     */
    public static OptionalLong lastStartNanos() {
        long now = System.nanoTime();
        long uptime = ManagementFactory.getRuntimeMXBean().getUptime();
        OptionalLong last = OptionalLong.empty();
        for (GarbageCollectorMXBean bean : ManagementFactory.getPlatformMXBeans(GarbageCollectorMXBean.class)) {
            GcInfo info = isFull(bean.getName()) ? bean.getLastGcInfo() : null;
            if (info != null && info.getEndTime() + SETTLING_MILLIS <= uptime) {
                long start = now - (uptime - info.getStartTime()) * NANOS_PER_MILLI;
                last = last.isPresent() && last.getAsLong() - start > 0 ? last : OptionalLong.of(start);
            }
        }
        return last;
    }

    /** Names of HotSpot's collectors: those of the young generation, and those that stand for a pause, leave parts out. */
    private static boolean isFull(String collector) {
        return !collector.contains("Young")
                && !collector.contains("Scavenge")
                && !collector.equals("Copy")
                && !collector.contains("Pauses")
                && !collector.contains("Concurrent");
    }
}
