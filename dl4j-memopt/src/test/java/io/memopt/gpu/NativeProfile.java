// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.bytedeco.cuda.global.cudart;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * Counts and times the native calls of one thread by method, and by operation where the call names one. Either as they are, which
 * tells where the thread waits, or one at a time, each with the device idle before and after it, which tells what the device does
 * for it; what the device still does when a call begins is that of calls which do not go this way, those of cuBLAS and cuDNN.
 *
 * <p>A reflection proxy: each call costs a microsecond more. Goes in front of the hooks and comes out with {@link #close}.
 */
final class NativeProfile implements AutoCloseable {
    private static final String OUTSIDE = "(outside: BLAS, cuDNN)";
    private static final int FAULTS_FIELD = 9;

    private final Thread thread = Thread.currentThread();
    private final NativeOps before = NativeOpsHolder.getInstance().getDeviceNativeOps();
    private final NativeOps proxy;
    private final boolean oneAtATime;
    private final Map<String, Row> rows = new HashMap<>();
    private final Map<Long, String> names = new HashMap<>();
    private final long faults = minorFaults();
    private final long begin = System.nanoTime();

    /** Sums of one kind of call. */
    private static final class Row {
        private final String name;
        private long calls;
        private long nanos;
        private long bytes;

        Row(String name) {
            this.name = name;
        }
    }

    private NativeProfile(boolean oneAtATime) {
        this.oneAtATime = oneAtATime && Nd4jFacts.isCuda();
        Nd4j.getExecutioner().getCustomOperations().forEach((name, operation) -> names.put(operation.getHash(), name));
        proxy = (NativeOps) Proxy.newProxyInstance(
                NativeProfile.class.getClassLoader(), new Class<?>[] {NativeOps.class}, this::invoke);
        exchange(before, proxy);
    }

    /** Begins to count; workspaces of the thread should have settled. */
    static NativeProfile begin(boolean oneAtATime) {
        return new NativeProfile(oneAtATime);
    }

    private @Nullable Object invoke(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
        if (Thread.currentThread() != thread) {
            return call(method, arguments);
        }
        if (oneAtATime) {
            long start = System.nanoTime();
            cudart.cudaDeviceSynchronize();
            add(OUTSIDE, System.nanoTime() - start, 0);
        }
        long start = System.nanoTime();
        try {
            return call(method, arguments);
        } finally {
            if (oneAtATime) {
                cudart.cudaDeviceSynchronize();
            }
            add(key(method, arguments), System.nanoTime() - start, bytes(method, arguments));
        }
    }

    private @Nullable Object call(Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(before, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private void add(String key, long nanos, long bytes) {
        Row row = rows.computeIfAbsent(key, Row::new);
        row.calls++;
        row.nanos += nanos;
        row.bytes += bytes;
    }

    private String key(Method method, Object @Nullable [] arguments) {
        String name = method.getName();
        if (arguments == null || arguments.length < 2) {
            return name;
        }
        if (name.equals("execCustomOp2")) {
            return "custom " + names.getOrDefault((Long) arguments[1], String.valueOf(arguments[1]));
        }
        if (name.startsWith("exec") && arguments[1] instanceof Integer number) {
            return name + " " + number;
        }
        if (name.startsWith("memcpy") && arguments[3] instanceof Integer kind) {
            return name + " kind " + kind + ((Long) arguments[2] < 4096 ? " tiny" : "");
        }
        return name;
    }

    private static long bytes(Method method, Object @Nullable [] arguments) {
        String name = method.getName();
        if (arguments == null) {
            return 0;
        }
        if (name.startsWith("memcpy") || name.startsWith("memset")) {
            return (Long) arguments[2];
        }
        return name.startsWith("malloc") ? (Long) arguments[0] : 0;
    }

    @Override
    public void close() {
        exchange(proxy, before);
    }

    /**
     * Lines for people.
     *
     * @param steps since the beginning
     * @param most rows, those with the most time
     */
    List<String> lines(int steps, int most) {
        long nanos = rows.values().stream().mapToLong(row -> row.nanos).sum();
        long calls = rows.values().stream().mapToLong(row -> row.calls).sum();
        List<String> lines = new ArrayList<>();
        lines.add(String.format(
                Locale.ROOT,
                "%s: %.3f ms a step on the clock, %.3f ms of it in %d native calls, %d page faults of the thread",
                oneAtATime ? "one call at a time" : "as it is",
                (System.nanoTime() - begin) / 1e6 / steps,
                nanos / 1e6 / steps,
                calls / steps,
                (minorFaults() - faults) / steps));
        rows.values().stream()
                .sorted(Comparator.comparingLong((Row row) -> -row.nanos))
                .limit(most)
                .map(row -> String.format(
                        Locale.ROOT,
                        "    %-52s %9.1f calls %10.3f ms %10.3f MiB",
                        row.name,
                        row.calls / (double) steps,
                        row.nanos / 1e6 / steps,
                        row.bytes / (double) (1 << 20) / steps))
                .forEach(lines::add);
        return lines;
    }

    /** Of the calling thread so far; 0 where the system does not tell. */
    static long minorFaults() {
        try {
            String stat = Files.readString(Path.of("/proc/thread-self/stat"));
            return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[FAULTS_FIELD - 2]);
        } catch (IOException e) {
            return 0;
        }
    }

    /** As the hooks exchange themselves, in the holder and in every copy of the reference. */
    private static void exchange(NativeOps from, NativeOps to) {
        try {
            Field holder = NativeOpsHolder.class.getDeclaredField("deviceNativeOps");
            holder.setAccessible(true);
            holder.set(NativeOpsHolder.getInstance(), to);
            Method copies = Class.forName(MemoryHooks.class.getPackageName() + ".CachedNativeOps")
                    .getDeclaredMethod("exchange", NativeOps.class, NativeOps.class);
            copies.setAccessible(true);
            copies.invoke(null, from, to);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("Native calls cannot be profiled", e);
        }
    }
}
