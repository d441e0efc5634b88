// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.DeviceMemory;
import io.memopt.strategy.HostMirrors;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicReference;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Several networks and threads on one or more CUDA devices, with planned workspaces, pool, untouched mirrors and cuDNN together; a
 * program, because the tests' class path has none. Each network is first trained alone; then two of each on threads of their own,
 * on one device, and, where there are more, on one device each. Prints whether parameters are the bits of the run alone. Algorithms
 * of cuDNN are measured once, so that all runs take the same. Several networks on one thread take turns.
 *
 * <p>Argument: folder for {@code threads.txt}.
 */
public final class CudaThreads {
    private static final int ITERATIONS = 20;
    private static final int BATCH = 32;

    private final PrintWriter out;
    private final Path cache;

    private CudaThreads(PrintWriter out, Path cache) {
        this.out = out;
        this.cache = cache;
    }

    public static void main(String[] arguments) throws IOException {
        Path folder = Files.createDirectories(Path.of(arguments.length > 0 ? arguments[0] : "."));
        try (PrintWriter file = new PrintWriter(Files.newBufferedWriter(folder.resolve("threads.txt")))) {
            new CudaThreads(file, folder.resolve("threads-algorithms.json")).all();
        }
        System.exit(0);
    }

    private void all() {
        int devices = Nd4j.getAffinityManager().getNumberOfDevices();
        print("%d devices", devices);
        for (Networks family : Networks.values()) {
            try {
                compare(family, devices);
            } catch (RuntimeException | LinkageError e) {
                print(
                        "FAILED %s: %s at %s",
                        family, e, Arrays.asList(e.getStackTrace()).subList(0, 6));
            } finally {
                MemoryHooks.uninstall();
            }
        }
    }

    private void compare(Networks family, int devices) {
        int[] plain = alone(family, false);
        print("%s: plain repeats %s", family, Arrays.equals(plain, alone(family, false)));
        alone(family, true); // measures algorithms
        int[] first = alone(family, true);
        print(
                "   alone with all options: repeats %s, equals plain %s",
                Arrays.equals(first, alone(family, true)), Arrays.equals(first, plain));
        print("   two on one thread, taking turns: equal to alone %s", equal(first, takingTurns(family)));
        print("   two on two threads of device 0: equal to alone %s", equal(first, threads(family, new int[] {0, 0})));
        print("   the same, plain: equal to plain %s", equal(plain, plainThreads(family)));
        if (devices > 1) {
            print("   on devices 0 and 1: equal to alone %s", equal(first, threads(family, new int[] {0, 1})));
        } else {
            print("   on two devices: SKIPPED, there is one");
        }
    }

    private int[] alone(Networks family, boolean ours) {
        MemoryHooks.uninstall();
        Model model = create(family);
        try (MemOpt ignored = ours ? MemOpt.attach(model, config()) : null) {
            train(family, model);
            return bits(model);
        } finally {
            MemoryHooks.uninstall();
        }
    }

    private List<int[]> takingTurns(Networks family) {
        MemoryHooks.uninstall();
        Model left = create(family);
        Model right = create(family);
        try (MemOpt ignored = MemOpt.attach(left, config());
                MemOpt ignoredToo = MemOpt.attach(right, config())) {
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(left, family.data(BATCH, i));
                Networks.fit(right, family.data(BATCH, i));
            }
            return List.of(bits(left), bits(right));
        } finally {
            MemoryHooks.uninstall();
        }
    }

    private List<int[]> plainThreads(Networks family) {
        return together(family, new int[] {0, 0}, null);
    }

    private List<int[]> threads(Networks family, int[] devices) {
        MemoryHooks.uninstall();
        try {
            return together(family, devices, config());
        } finally {
            MemoryHooks.uninstall();
        }
    }

    /** A network for each device, made, attached and trained by a thread that works there. */
    private List<int[]> together(Networks family, int[] devices, @Nullable MemOptConfig config) {
        List<int[]> results = new ArrayList<>();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < devices.length; i++) {
            int place = i;
            results.add(new int[0]);
            Thread thread = new Thread(
                    () -> results.set(place, onDevice(family, devices[place], config)), "device " + devices[i]);
            thread.setUncaughtExceptionHandler((which, e) -> failure.set(e));
            threads.add(thread);
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        if (failure.get() != null) {
            throw new IllegalStateException("A thread failed: " + failure.get(), failure.get());
        }
        return results;
    }

    private int[] onDevice(Networks family, int device, @Nullable MemOptConfig config) {
        Nd4j.getAffinityManager().unsafeSetDevice(device);
        Model model = create(family);
        try (MemOpt memopt = config == null ? null : MemOpt.attach(model, config)) {
            train(family, model);
            int[] bits = bits(model);
            if (memopt != null) {
                print("      device %d: pool %s", device, memopt.devicePool());
            }
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            return bits;
        }
    }

    private static synchronized Model create(Networks family) {
        Nd4j.getRandom().setSeed(7);
        return family.create(WorkspaceMode.ENABLED);
    }

    private static void train(Networks family, Model model) {
        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(model, family.data(BATCH, i));
        }
    }

    private MemOptConfig config() {
        return MemOptConfig.builder()
                .reuse(Reuse.PLANNED)
                .deviceMemory(DeviceMemory.POOL)
                .hostMirrors(HostMirrors.UNTOUCHED)
                .convolutions(Convolutions.CUDNN.withCache(cache))
                .build();
    }

    private static String equal(int[] expected, List<int[]> found) {
        return found.stream()
                .map(bits -> String.valueOf(Arrays.equals(expected, bits)))
                .toList()
                .toString();
    }

    private static int[] bits(Model model) {
        INDArray array = model.params();
        float[] values = array.dup().data().asFloat();
        int[] bits = new int[values.length];
        Arrays.setAll(bits, i -> Float.floatToRawIntBits(values[i]));
        return bits;
    }

    private synchronized void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values);
        System.out.println(line);
        out.println(line);
        out.flush();
    }
}
