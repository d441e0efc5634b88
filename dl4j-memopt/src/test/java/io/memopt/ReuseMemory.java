// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.WorkspaceFlows;
import io.memopt.analysis.ReferenceNetworks;
import io.memopt.strategy.PlanRow;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.factory.Nd4j;

/** Trains a network in a JVM of its own and says what memory that took, as {@code key=value} lines. */
final class ReuseMemory {
    /** DL4J's workspaces have their sizes by then, and plans are proved. */
    private static final int SETTLED = 8;

    private static final int MEASURED = 6;
    /** All of it resident from the start, so that differences in resident size are native. */
    private static final String[] OPTIONS = {
        "-Xms384m",
        "-Xmx384m",
        "-XX:+AlwaysPreTouch",
        "-Dorg.bytedeco.javacpp.maxbytes=8g",
        "-Dorg.bytedeco.javacpp.maxphysicalbytes=16g"
    };

    /** How a child trains. */
    enum Way {
        /** ND4J's own workspaces, observed. */
        PLAIN,
        PLANNED,
        /** Planned, with plans from three examples before the first minibatch. */
        REHEARSED,
        /** Planned, with plans from the profile that a run before it wrote. */
        PROFILED
    }

    private ReuseMemory() {}

    /** Trains in a child; PROFILED in two, one after the other. */
    static ChildJvm.Result of(ReferenceNetworks network, Way way) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("plans");
        Path profile = folder.resolve("plans.json");
        try {
            if (way == Way.PROFILED) {
                child(network, way, profile);
            }
            return child(network, way, profile);
        } finally {
            Files.deleteIfExists(profile);
            Files.delete(folder);
        }
    }

    private static ChildJvm.Result child(ReferenceNetworks network, Way way, Path profile)
            throws IOException, InterruptedException {
        return ChildJvm.of(ReuseMemory.class, network.name(), way.name(), profile.toString())
                .options(OPTIONS)
                .run()
                .ok();
    }

    public static void main(String[] arguments) throws IOException {
        ReferenceNetworks network = ReferenceNetworks.valueOf(arguments[0]);
        Way way = Way.valueOf(arguments[1]);
        Nd4j.create(1).addi(1);
        say("processAlone", resident("VmRSS:"));
        Model model = network.create();
        model.params().assign(0.01);
        MemOpt memopt = MemOpt.attach(model, config(way, Path.of(arguments[2])));
        if (way == Way.REHEARSED) {
            memopt.rehearse(network.data(0));
        }
        MemoryLedger ledger = MemoryHooks.recording().ledger();
        long spilledBefore = spilledBytes(ledger);
        train(model, network, 0, 1);
        say("spilledFirst", spilledBytes(ledger) - spilledBefore);
        train(model, network, 1, SETTLED);
        long early = resident("VmHWM:");
        Files.writeString(Path.of("/proc/self/clear_refs"), "5"); // resets VmHWM
        train(model, network, SETTLED, SETTLED + MEASURED);
        say("residentPeak", Math.max(early, resident("VmHWM:")));
        say("residentPeakSettled", resident("VmHWM:"));
        tell(model, network, ledger);
        memopt.plans().stream().filter(plan -> plan.served() > 0).findFirst().ifPresent(ReuseMemory::tell);
        memopt.close();
    }

    private static MemOptConfig config(Way way, Path profile) {
        MemOptConfig.Builder config = MemOptConfig.builder();
        if (way != Way.PLAIN) {
            config.reuse(Reuse.PLANNED);
        }
        if (way == Way.PROFILED) {
            config.planProfile(profile);
        }
        return config.build();
    }

    private static void train(Model model, ReferenceNetworks network, int from, int to) {
        for (int i = from; i < to; i++) {
            Networks.fit(model, network.data(i));
        }
    }

    private static long spilledBytes(MemoryLedger ledger) {
        return ledger.workspaceFlows().values().stream()
                .mapToLong(WorkspaceFlows::spilledBytes)
                .sum();
    }

    private static void tell(Model model, ReferenceNetworks network, MemoryLedger ledger) {
        say("batch", network.data(0).numExamples());
        say("workspaces", ledger.reservedBytes(AllocationKind.WORKSPACE_BLOCK, MemorySpace.HOST));
        say("tensorPeak", ledger.reservedPeak().bytes());
        say("network", 4 * (2 * model.numParams() + updaterState(model)));
        say("parameterHash", Arrays.hashCode(model.params().dup().data().asFloat()));
    }

    private static void tell(PlanRow plan) {
        System.out.println("state=" + plan.state());
        say("arena", plan.arenaBytes());
        say("bound", plan.lowerBoundBytes());
    }

    private static void say(String key, long value) {
        System.out.println(key + "=" + value);
    }

    private static long updaterState(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getUpdater().getStateViewArray().length()
                : ((ComputationGraph) model).getUpdater().getStateViewArray().length();
    }

    private static long resident(String row) {
        try {
            return Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(line -> line.startsWith(row))
                    .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                    .findFirst()
                    .orElse(0);
        } catch (IOException e) {
            throw new IllegalStateException("resident size cannot be read", e);
        }
    }
}
