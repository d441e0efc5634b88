// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.util.Arrays;
import java.util.Locale;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Planned workspaces on a CUDA backend; a program, because the tests' class path has none. Prints for four networks whether
 * training repeats bit for bit, whether planned training equals it, what both reserve on the device and in page-locked
 * memory, and their median steps. Arguments: batches, each tried with all networks.
 */
public final class CudaPlanned {
    private static final int ITERATIONS = 30;
    private static final double MIB = 1 << 20;

    private CudaPlanned() {}

    /** How one run went. */
    private record Run(int bits, double firstMillis, double medianMillis, long device, long pinned, String plans) {}

    public static void main(String[] arguments) {
        for (String batch : arguments) {
            for (Networks family : Networks.values()) {
                try {
                    compare(family, Integer.parseInt(batch));
                } catch (RuntimeException e) {
                    print(
                            "%s b%s failed: %s at %s",
                            family, batch, e, Arrays.asList(e.getStackTrace()).subList(0, 8));
                }
            }
        }
    }

    private static void compare(Networks family, int batch) {
        Run plain = train(family, batch, Reuse.OFF);
        Run again = train(family, batch, Reuse.OFF);
        Run planned = train(family, batch, Reuse.PLANNED);
        print(
                "%s b%d: plain repeats %s, planned equals plain %s, %s",
                family, batch, plain.bits() == again.bits(), plain.bits() == planned.bits(), planned.plans());
        print("   plain   %s", describe(plain));
        print("   again   %s", describe(again));
        print("   planned %s", describe(planned));
    }

    private static String describe(Run run) {
        return String.format(
                Locale.ROOT,
                "device peak %.2f MiB, page-locked %.2f MiB, first step %.1f ms, median %.3f ms",
                run.device() / MIB,
                run.pinned() / MIB,
                run.firstMillis(),
                run.medianMillis());
    }

    private static Run train(Networks family, int batch, Reuse reuse) {
        MemoryHooks.uninstall();
        MemoryLedger ledger = MemoryHooks.install().ledger();
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(WorkspaceMode.ENABLED);
        MemOptConfig config = MemOptConfig.builder().reuse(reuse).build();
        double[] millis = new double[ITERATIONS];
        long device = 0;
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < ITERATIONS; i++) {
                DataSet data = family.data(batch, i);
                long start = System.nanoTime();
                Networks.fit(model, data);
                Nd4j.getExecutioner().commit();
                millis[i] = (System.nanoTime() - start) / 1e6;
                device = Math.max(device, ledger.reservedBytes(MemorySpace.DEVICE));
            }
            String plans = plans(memopt);
            long pinned = ledger.reservedBytes(MemorySpace.PINNED);
            int bits = bits(model.params());
            double first = millis[0];
            double[] steady = Arrays.copyOfRange(millis, ITERATIONS / 2, ITERATIONS);
            Arrays.sort(steady);
            return new Run(bits, first, steady[steady.length / 2], device, pinned, plans);
        } finally {
            MemoryHooks.uninstall();
        }
    }

    private static String plans(MemOpt memopt) {
        StringBuilder text = new StringBuilder();
        for (PlanRow row : memopt.plans()) {
            text.append(String.format(
                    Locale.ROOT,
                    "[%s %s arena %.2f MiB, bound %.2f, scopes %.2f, served %d, missed %d] ",
                    row.state(),
                    row.reason(),
                    row.arenaBytes() / MIB,
                    row.lowerBoundBytes() / MIB,
                    row.scopeBytes() / MIB,
                    row.served(),
                    row.missed()));
        }
        return text.toString();
    }

    /** A hash of the bits: equal ones are taken for equal arrays. */
    private static int bits(INDArray array) {
        return Arrays.hashCode(array.dup().data().asFloat());
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
