// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.StepCost;
import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.recording.FlowCounters;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * What observation sees and costs on a CUDA backend; a program, because the tests' class path has none. Prints for four
 * networks whether plain training repeats bit for bit, whether observed training equals it, the ledger against the
 * driver's own figure, and the paired step time. Arguments: folder for the trace, the metrics and the summary.
 */
public final class CudaObservation {
    private static final int ITERATIONS = 15;
    private static final double MIB = 1 << 20;

    private CudaObservation() {}

    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments.length > 0 ? arguments[0] : ".");
        print(
                "backend %s, ND4J %s, hooks at start: %s",
                Nd4jFacts.backend(), Nd4jFacts.version(), MemoryHooks.installed());
        for (Networks family : Networks.values()) {
            equality(family, 32);
        }
        observe(folder);
        StepCost.main(new String[] {"25", "LENET,64", "RESIDUAL_GRAPH,32", "LENET,1024"});
    }

    private static void equality(Networks family, int batch) {
        MemoryHooks.uninstall();
        int[] first = train(family, batch, false);
        int[] again = train(family, batch, false);
        long free = freeBytes();
        MemoryLedger ledger = MemoryHooks.install().ledger();
        int[] observed = train(family, batch, true);
        print(
                "%s b%d: plain repeats %s, observed equals plain %s, device ledger %.1f MiB, driver %.1f MiB, pinned %.1f MiB",
                family,
                batch,
                Arrays.equals(first, again),
                Arrays.equals(first, observed),
                ledger.reservedBytes(MemorySpace.DEVICE) / MIB,
                (free - freeBytes()) / MIB,
                ledger.reservedBytes(MemorySpace.PINNED) / MIB);
        MemoryHooks.uninstall();
    }

    /** Bits of the parameters after some iterations. */
    private static int[] train(Networks family, int batch, boolean attach) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        MemOpt memopt = attach ? MemOpt.attach(model) : null;
        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(model, family.data(batch, i));
        }
        int[] bits = bits(model.params());
        if (memopt != null) {
            print(
                    "   attributed %.3f %%, events %d",
                    100 * memopt.summary().attributedShare(), memopt.summary().events());
        }
        return bits;
    }

    private static void observe(Path folder) throws IOException {
        MemoryLedger ledger = MemoryHooks.install().ledger();
        Model model = Networks.VGG.create(WorkspaceMode.ENABLED);
        MemOptConfig config =
                MemOptConfig.builder().trace(folder.resolve("cuda.memopt")).build();
        try (MemOpt memopt = MemOpt.attach(model, config);
                var server = memopt.serveMetrics(0).orElseThrow()) {
            for (int i = 0; i < ITERATIONS; i++) {
                Networks.fit(model, Networks.VGG.data(32, i));
            }
            print("%s", memopt.summary());
            FlowCounters flows = ledger.flows();
            for (TransferDirection direction : TransferDirection.values()) {
                print(
                        "%s: %d copies, %d B, %.3f ms",
                        direction,
                        flows.transfers(direction),
                        flows.transferredBytes(direction),
                        flows.transferNanos(direction) / 1e6);
            }
            for (MemorySpace space : MemorySpace.values()) {
                for (AllocationKind kind : AllocationKind.values()) {
                    print(
                            "%s %s: %d B now, %d allocations",
                            space,
                            kind,
                            kind.ownsMemory() ? ledger.reservedBytes(kind, space) : 0,
                            flows.allocations(kind, space));
                }
            }
            Files.writeString(folder.resolve("metrics.txt"), server.scrape());
            Files.writeString(folder.resolve("summary.json"), memopt.summary().toJson());
        }
    }

    private static long freeBytes() {
        Nd4j.getExecutioner().commit();
        return NativeOpsHolder.getInstance().getDeviceNativeOps().getDeviceFreeMemory(0);
    }

    private static int[] bits(INDArray array) {
        float[] values = array.dup().data().asFloat();
        int[] bits = new int[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Float.floatToRawIntBits(values[i]);
        }
        return bits;
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
