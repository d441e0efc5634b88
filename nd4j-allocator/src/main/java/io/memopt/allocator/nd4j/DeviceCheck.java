// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * Whether the device of the calling thread computes at all. ND4J does not ask whether a kernel was started: on a GPU for which
 * its library holds no machine code, operations return at once and leave their results as they were, and a network trains on
 * garbage. (The stock CUDA libraries of 1.0.0-M2.1 hold code for GPUs up to sm_86.)
 *
 * <p>Threading: any thread; a few milliseconds.
 */
public final class DeviceCheck {
    /** Each result can be told exactly in binary. */
    private static final List<Probe> PROBES = List.of(
            new Probe("element-wise product", () -> row(1, 2, 3).mul(2.5), List.of(2.5f, 5f, 7.5f)),
            new Probe("sum along a dimension", () -> square(1, 2, 3, 4).sum(0), List.of(4f, 6f)),
            new Probe("comparison", () -> row(1, 2, 3).gt(2).castTo(DataType.FLOAT), List.of(0f, 0f, 1f)),
            new Probe("matrix product", () -> square(1, 2, 3, 4).mmul(square(0, 1, 1, 0)), List.of(2f, 1f, 4f, 3f)),
            new Probe("softmax", () -> Nd4j.nn().softmax(square(3, 3, -7, -7)), List.of(0.5f, 0.5f, 0.5f, 0.5f)));

    /** One operation on constants. */
    record Probe(String name, Supplier<INDArray> computation, List<Float> expected) {
        boolean isRight() {
            float[] computed = computation.get().reshape(expected.size()).toFloatVector();
            return IntStream.range(0, computed.length).allMatch(i -> computed[i] == expected.get(i));
        }
    }

    private DeviceCheck() {}

    /** What is wrong with the device and what to do, in words; empty when its results are right. */
    public static Optional<String> problem() {
        List<Probe> wrong = wrong(PROBES);
        return wrong.isEmpty() ? Optional.empty() : Optional.of(describe(device(), wrong, PROBES.size()));
    }

    /** Those that give another result than they should, or none. */
    static List<Probe> wrong(List<Probe> probes) {
        try (MemoryWorkspace detached = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return probes.stream().filter(probe -> !computes(probe)).toList();
        }
    }

    private static boolean computes(Probe probe) {
        try {
            return probe.isRight();
        } catch (RuntimeException e) {
            return false;
        }
    }

    static String describe(String device, List<Probe> wrong, int all) {
        return device + " computes garbage: " + wrong.size() + " of " + all
                + " operations on constants gave wrong results ("
                + wrong.stream().map(Probe::name).collect(Collectors.joining(", ")) + "). ND4J " + Nd4jFacts.version()
                + " most likely holds no machine code for this GPU and does not notice. Nothing trained on it can be used:"
                + " take the CPU backend, a GPU that this ND4J was built for, or an ND4J that was built for this GPU.";
    }

    private static String device() {
        NativeOps ops = NativeOpsHolder.getInstance().getDeviceNativeOps();
        int device = ops.getDevice();
        return "Device " + device + " (" + ops.getDeviceName(device) + ", sm_" + ops.getDeviceMajor(device)
                + ops.getDeviceMinor(device) + ")";
    }

    private static INDArray row(float... values) {
        return Nd4j.createFromArray(values);
    }

    private static INDArray square(float... values) {
        return Nd4j.createFromArray(values).reshape(2, 2);
    }
}
