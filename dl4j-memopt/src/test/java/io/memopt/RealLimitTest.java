// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.FailureMoment;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.guard.OutOfMemory;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.memory.enums.DebugMode;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Real refusals at many places of an iteration: the address space of a process is limited by {@code prlimit --as} to what it has and
 * a bit more, again and again, with a little more room each time. Each failed iteration is undone; done again without the limit, the
 * network ends with the parameters of one that was never limited. Convolutions only: small arrays of recurrent layers do not reach the
 * limit before the JVM itself would.
 */
@Tag("soak")
class RealLimitTest {
    private static final int FAILURES = Integer.getInteger("memopt.realFailures", 25);

    @TempDir
    Path reports;

    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "VGG", "RESIDUAL_GRAPH"})
    void refusalsEverywhere_loseNoUpdate(Networks each) throws IOException, InterruptedException {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/prlimit")), "prlimit is not installed");
        ChildJvm.Result child = ChildJvm.of(Training.class, each.name(), reports.toString(), String.valueOf(FAILURES))
                .options("-Xmx512m", "-Xms512m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                // Blocks come from the system one by one, and go back to it.
                .environment("MALLOC_MMAP_THRESHOLD_", "65536")
                .environment("MALLOC_ARENA_MAX", "1")
                .within(60L * FAILURES) // each failure is four iterations or so, on a machine that may be busy
                .run()
                .ok();

        System.out.println(each + ", real refusals: " + child.number("failures") + " failures, layers "
                + child.text("layers") + ", phases " + child.text("phases"));
        assertThat(child.number("failures")).isGreaterThanOrEqualTo(FAILURES);
        assertThat(child.text("same")).isEqualTo("true");
        assertThat(child.number("iterations")).isEqualTo(child.number("expected"));
        assertThat(child.text("layers")).isNotEqualTo("[]");
        assertThat(child.number("reports")).isPositive();
    }

    /** Trains one network under limits, and one without. */
    static final class Training {
        private static final int WARM_UP = 2;
        /** For the JVM itself. */
        private static final long LEAST_ROOM = 24L << 20;

        private Training() {}

        public static void main(String[] arguments) throws IOException, InterruptedException {
            Networks each = Networks.valueOf(arguments[0]);
            Path reports = Path.of(arguments[1]);
            int wanted = Integer.parseInt(arguments[2]);
            Model plain = each.create(WorkspaceMode.ENABLED);
            Model model = each.create(WorkspaceMode.ENABLED);
            MemOptConfig config = MemOptConfig.builder()
                    .outOfMemory(OutOfMemory.GUARD)
                    .postMortems(reports)
                    .build();
            TreeSet<String> layers = new TreeSet<>();
            TreeSet<String> phases = new TreeSet<>();
            int failures = 0;
            int iteration = 0;
            boolean same = true;
            try (MemOpt memopt = MemOpt.attach(model, config)) {
                Nd4j.getWorkspaceManager().setDebugMode(DebugMode.SPILL_EVERYTHING);
                MemoryLedger ledger = MemoryHooks.recording().ledger();
                DataSet data = each.data(batch(each), 1);
                long needed = 0;
                for (; iteration < WARM_UP; iteration++) {
                    needed = needed(ledger, model, data, iteration);
                    fit(plain, data, iteration);
                }
                for (int i = 0; failures < wanted && i < 4 * wanted; i++, iteration++) {
                    long room = LEAST_ROOM + Math.max(0, needed - LEAST_ROOM) * (i % wanted) / wanted;
                    Nd4j.getRandom().setStates(7, iteration + 1);
                    AddressSpace.limit(AddressSpace.bytes() + room);
                    boolean failed = failed(model, data);
                    AddressSpace.limit(AddressSpace.UNLIMITED);
                    if (failed) {
                        failures++;
                        FailureMoment moment = last(ledger.failures());
                        layers.add(moment.owner().layer());
                        phases.add(moment.owner().phase().name());
                        fit(model, data, iteration);
                    }
                    fit(plain, data, iteration);
                    same &= Arrays.equals(bits(model), bits(plain));
                }
                System.out.println("active=" + memopt.isActive());
                System.out.println("needed=" + needed);
            }
            System.out.println("failures=" + failures);
            System.out.println("iterations=" + BaseOptimizer.getIterationCount(model));
            System.out.println("expected=" + iteration);
            System.out.println("same=" + same);
            System.out.println("layers=" + layers);
            System.out.println("phases=" + phases);
            try (var files = Files.list(reports)) {
                System.out.println("reports=" + files.count());
            }
            System.exit(0);
        }

        /** So that an iteration takes several times what the JVM needs for itself. */
        private static int batch(Networks each) {
            return each == Networks.LENET ? 128 : 96;
        }

        private static long needed(MemoryLedger ledger, Model model, DataSet data, int iteration) {
            try (PeakWindow window = ledger.openPeakWindow()) {
                long before = ledger.reservedBytes(MemorySpace.HOST);
                fit(model, data, iteration);
                return window.take().reservedBytes(MemorySpace.HOST) - before;
            }
        }

        private static void fit(Model model, DataSet data, int iteration) {
            Nd4j.getRandom().setStates(7, iteration + 1);
            Networks.fit(model, data);
        }

        /** Whether memory ran out; other failures go on. */
        private static boolean failed(Model model, DataSet data) {
            try {
                Networks.fit(model, data);
                return false;
            } catch (RuntimeException | OutOfMemoryError e) {
                for (Throwable each = e; each != null; each = each.getCause()) {
                    if (String.valueOf(each.getMessage()).contains("bad_alloc") || each instanceof OutOfMemoryError) {
                        return true;
                    }
                }
                throw e;
            }
        }

        private static FailureMoment last(List<FailureMoment> failures) {
            return failures.get(failures.size() - 1);
        }

        private static byte[] bits(Model model) {
            return model.params().data().asBytes();
        }
    }
}
