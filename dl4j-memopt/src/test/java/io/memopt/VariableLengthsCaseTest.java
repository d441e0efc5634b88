// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.UserCasesTest.CountingMemoryManager;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import io.memopt.report.MemorySummary;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Sequences of random length, 10 to 50 steps, batch 16: plain Deeplearning4j spills and resizes its workspaces again and again.
 * With sizes known, from a profile or a rehearsal with the longest sequence, nothing spills and nothing is resized, by our own
 * count and by that of a memory manager which ND4J calls; losses are the same bits.
 */
class VariableLengthsCaseTest {

    @ParameterizedTest
    @EnumSource(
            value = Reuse.class,
            names = {"SIZED", "PLANNED"})
    void randomLengths_rehearsedWithTheLongest_neitherSpillNorResize(Reuse reuse) throws Exception {
        ChildJvm.Result child = run(reuse, "rehearsal");

        assertNeither(child, "rehearsed");
        assertThat(child.text("rehearsedLosses")).isEqualTo(child.text("plainLosses"));
    }

    @ParameterizedTest
    @EnumSource(
            value = Reuse.class,
            names = {"SIZED", "PLANNED"})
    void randomLengths_profiled_neitherSpillNorResize_inAnyOrder(Reuse reuse) throws Exception {
        ChildJvm.Result child = run(reuse, "profile");

        assertThat(child.text("learningLosses")).isEqualTo(child.text("plainLosses"));
        assertNeither(child, "profiled");
        assertThat(child.text("profiledLosses")).isEqualTo(child.text("plainLosses"));
        assertNeither(child, "longestFirst");
        assertThat(child.text("longestFirstLosses")).isEqualTo(child.text("plainLongestFirstLosses"));
    }

    private static ChildJvm.Result run(Reuse reuse, String from) throws Exception {
        ChildJvm.Result child = ChildJvm.of(Lengths.class, reuse.name(), from)
                .options("-Xmx2g", "-Dmemorymanager=" + CountingMemoryManager.class.getName())
                .run()
                .ok();
        assertThat(child.number("plainTrueSpills")).isPositive();
        assertThat(child.number("plainResizes")).isPositive();
        return child;
    }

    private static void assertNeither(ChildJvm.Result child, String run) {
        assertThat(child.number(run + "Spills")).as(run).isZero();
        assertThat(child.number(run + "TrueSpills")).as(run).isZero();
        assertThat(child.number(run + "Resizes")).as(run).isZero();
    }

    /** The child. */
    static final class Lengths {
        private static final int FITS = 10;
        private static final int LONGEST = 50;

        private Lengths() {}

        public static void main(String[] args) throws Exception {
            Random random = new Random(1);
            int[] lengths = IntStream.generate(() -> 10 + random.nextInt(LONGEST - 9))
                    .limit(FITS)
                    .toArray();
            int[] longestFirst = IntStream.of(lengths)
                    .boxed()
                    .sorted((a, b) -> b - a)
                    .mapToInt(Integer::intValue)
                    .toArray();
            Path folder = Files.createTempDirectory("lengths");
            MemOptConfig.Builder reuse = MemOptConfig.builder().reuse(Reuse.valueOf(args[0]));
            MemOptConfig rehearsed = reuse.build();
            MemOptConfig profiled =
                    reuse.planProfile(folder.resolve("profile.json")).build();

            run("plain", MemOptConfig.defaults(), false, lengths);
            if (args[1].equals("rehearsal")) {
                run("rehearsed", rehearsed, true, lengths);
            } else {
                run("learning", profiled, false, lengths);
                run("profiled", profiled, false, lengths);
                run("plainLongestFirst", MemOptConfig.defaults(), false, longestFirst);
                run("longestFirst", profiled, false, longestFirst);
            }
        }

        private static void run(String name, MemOptConfig config, boolean rehearse, int[] lengths) {
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            MultiLayerNetwork network = Networks.lstm(8, 16, 2);
            try (MemOpt memopt = MemOpt.attach(network, config)) {
                if (rehearse) {
                    memopt.rehearse(sequences(3, LONGEST));
                }
                SimpleMeterRegistry registry = new SimpleMeterRegistry();
                memopt.bindTo(registry);
                long spilledBefore = spills(memopt.summary());
                double resizedBefore = arenaResizes(registry);
                CountingMemoryManager.spills = 0;
                print(name + "Losses", train(network, lengths));
                print(name + "Spills", spills(memopt.summary()) - spilledBefore);
                print(name + "TrueSpills", CountingMemoryManager.spills);
                print(name + "Resizes", resizes(memopt.summary()) + Math.round(arenaResizes(registry) - resizedBefore));
                System.out.println(memopt.summary().notes());
            }
        }

        private static String train(MultiLayerNetwork network, int[] lengths) {
            StringBuilder losses = new StringBuilder();
            Nd4j.getRandom().setSeed(5);
            for (int steps : lengths) {
                network.fit(sequences(16, steps));
                losses.append(Double.toHexString(network.score())).append(' ');
            }
            return losses.toString();
        }

        private static DataSet sequences(int batch, int steps) {
            return new DataSet(Nd4j.rand(batch, 8, steps), Nd4j.rand(batch, 2, steps));
        }

        private static long spills(MemorySummary summary) {
            return summary.workspaces().stream()
                    .mapToLong(MemorySummary.WorkspaceRow::spills)
                    .sum();
        }

        private static double arenaResizes(SimpleMeterRegistry registry) {
            return registry.get("memopt.arena.resizes").functionCounter().count();
        }

        /** Of ND4J's own. */
        private static long resizes(MemorySummary summary) {
            return summary.workspaces().stream()
                    .filter(row -> !row.name().equals(NetworkWorkspaces.ARENA))
                    .mapToLong(MemorySummary.WorkspaceRow::resizes)
                    .sum();
        }

        private static void print(String key, Object value) {
            System.out.println(key + "=" + value);
        }
    }
}
