// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.analysis.ReferenceNetworks;
import io.memopt.report.MemorySummary;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What checkpointing saves and costs, alone and with planned workspaces, as a table:
 * {@code mvn -Pbench -pl dl4j-memopt -am test -Dtest=CheckpointBench -Dsurefire.failIfNoSpecifiedTests=false}.
 * {@code bench.networks} (default VGG_LIKE,RESNET50) names networks, with commas; {@code bench.iterations} (default 5) are timed
 * once memory has settled, {@code bench.ways} (default all) names ways to train, of which the first is compared with. All ways must train to the same bits. No assertion on time.
 */
@Tag("bench")
class CheckpointBench {
    /** Segments are measured, workspaces have their sizes and plans are proved by then. */
    private static final int SETTLED = 10;

    private static final int TIMED = Integer.getInteger("bench.iterations", 5);
    private static final double MB = 1e6;

    private enum Way {
        PLAIN(1, Reuse.OFF),
        SHARE_40(0.4, Reuse.OFF),
        SHARE_25(0.25, Reuse.OFF),
        LEAST(0, Reuse.OFF),
        PLANNED(1, Reuse.PLANNED),
        SHARE_40_PLANNED(0.4, Reuse.PLANNED),
        LEAST_PLANNED(0, Reuse.PLANNED);

        private final double share;
        private final Reuse reuse;

        Way(double share, Reuse reuse) {
            this.share = share;
            this.reuse = reuse;
        }

        private MemOptConfig config() {
            return MemOptConfig.builder().activationShare(share).reuse(reuse).build();
        }
    }

    private static final List<Way> WAYS = ways(System.getProperty("bench.ways", ""));

    private static List<Way> ways(String names) {
        return names.isEmpty()
                ? List.of(Way.values())
                : Arrays.stream(names.split(",", -1)).map(Way::valueOf).toList();
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void table() {
        System.out.printf(
                "%-14s %-17s %12s %6s %12s %6s %10s %6s%n",
                "network", "", "activations", "%", "workspaces", "%", "CPU ms", "%");
        for (String name :
                System.getProperty("bench.networks", "VGG_LIKE,RESNET50").split(",", -1)) {
            Row plain = null;
            for (Way way : WAYS) {
                Row row = row(ReferenceNetworks.valueOf(name), way);
                plain = plain == null ? row : plain;
                assertThat(row.hash).isEqualTo(plain.hash);
                System.out.printf(
                        Locale.ROOT,
                        "%-14s %-17s %12.2f %6.1f %12.2f %6.1f %10.1f %6.1f%n",
                        name,
                        way,
                        row.activations / MB,
                        100.0 * row.activations / plain.activations,
                        row.workspaces / MB,
                        100.0 * row.workspaces / plain.workspaces,
                        row.millis,
                        100 * row.millis / plain.millis);
                row.notes.forEach(note -> System.out.println("    " + note));
            }
        }
    }

    private record Row(long activations, long workspaces, double millis, int hash, List<String> notes) {}

    private static Row row(ReferenceNetworks network, Way way) {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        Nd4j.getRandom().setSeed(7);
        Model model = network.create();
        model.params()
                .assign(Nd4j.linspace(
                                -0.02, 0.02, model.numParams(), model.params().dataType())
                        .reshape(model.params().shape()));
        try (MemOpt memopt = MemOpt.attach(model, way.config())) {
            double[] millis = new double[TIMED];
            for (int i = 0; i < SETTLED + TIMED; i++) {
                long begun = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                Networks.fit(model, network.data(i));
                if (i >= SETTLED) {
                    millis[i - SETTLED] = (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begun) / 1e6;
                }
            }
            Arrays.sort(millis);
            MemorySummary summary = memopt.summary();
            if (way.reuse == Reuse.PLANNED) {
                assertThat(memopt.plans()).extracting(PlanRow::state).contains("TRUSTED");
            }
            return new Row(
                    summary.workspaces().stream()
                            .filter(workspace -> workspace.name().equals("WS_ALL_LAYERS_ACT")
                                    || workspace.name().equals(NetworkWorkspaces.SEGMENT))
                            .mapToLong(workspace -> workspace.reservedBytes())
                            .sum(),
                    MemoryHooks.recording().ledger().reservedBytes(AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST),
                    millis[TIMED / 2],
                    Arrays.hashCode(model.params().dup().data().asFloat()),
                    summary.notes().stream()
                            .filter(note -> note.startsWith("Checkp"))
                            .toList());
        }
    }
}
