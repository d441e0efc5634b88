// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.cudnn.ScratchBudget;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.strategy.cudnn.ConvolutionReport;
import io.memopt.strategy.cudnn.ConvolutionRow;
import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.strategy.cudnn.LayerErrors;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * What cuDNN's convolutions and batch normalisations change on a CUDA backend; a program, because the tests' class path has none.
 * Prints errors against double precision by layer and by network, step times, device memory, algorithms, the front of time against
 * scratch memory and a training at a quarter of the scratch. A part that fails is named, and the next begins.
 *
 * <p>Arguments: folder for results; seconds after which no further part begins (default 290); names of parts (default all).
 */
public final class CudnnNetworks {
    private static final long UNBOUNDED = 2L << 30;
    private static final int CURVE_STEPS = 100;
    private static final double MIB = 1 << 20;

    private final Path folder;
    private final PrintStream out;
    private final long deadline;
    private final List<String> wanted;
    private int failures;

    private CudnnNetworks(Path folder, PrintStream out, long seconds, List<String> wanted) {
        this.folder = folder;
        this.out = out;
        this.deadline = System.nanoTime() + seconds * 1_000_000_000L;
        this.wanted = wanted;
    }

    /** A part of the program. */
    private interface Part {
        void run() throws IOException;
    }

    public static void main(String[] arguments) throws IOException {
        Path folder = Files.createDirectories(Path.of(arguments.length > 0 ? arguments[0] : "."));
        long seconds = arguments.length > 1 ? Long.parseLong(arguments[1]) : 290;
        List<String> wanted = Arrays.asList(arguments).subList(Math.min(2, arguments.length), arguments.length);
        try (PrintStream file = new PrintStream(
                Files.newOutputStream(folder.resolve("cudnn-networks.txt")), true, StandardCharsets.UTF_8)) {
            new CudnnNetworks(folder, file, seconds, wanted).all();
        }
        System.exit(0);
    }

    private void all() {
        print("backend %s, ND4J %s", Nd4jFacts.backend(), Nd4jFacts.version());
        part("errors", this::errors);
        List<CudnnCase> small = List.of(CudnnCase.LENET, CudnnCase.CIFAR, CudnnCase.VGG_BN);
        small.forEach(kind -> part("equality-" + kind, () -> equality(kind)));
        small.forEach(kind -> part("steps-" + kind, () -> steps(kind)));
        part("steps-RESNET50", () -> steps(CudnnCase.RESNET50));
        part("steps-VGG16", () -> steps(CudnnCase.VGG16));
        small.forEach(kind -> part("double-" + kind, () -> againstDouble(kind, 16)));
        small.forEach(kind -> part("curve-" + kind, () -> curve(kind)));
        part("double-RESNET50", () -> againstDouble(CudnnCase.RESNET50, 4));
        part("double-VGG16", () -> againstDouble(CudnnCase.VGG16, 4));
        part(
                "tf32-VGG16",
                () -> timed(
                        CudnnCase.VGG16,
                        CudnnCase.VGG16.create(),
                        "TF32",
                        Convolutions.CUDNN.withTf32(true).withCache(cache()),
                        6));
        print("parts that failed: %d", failures);
    }

    private void part(String name, Part part) {
        if (!wanted.isEmpty() && wanted.stream().noneMatch(name::startsWith)) {
            return;
        }
        if (System.nanoTime() > deadline) {
            print("## %s left out: out of time", name);
            return;
        }
        print("## %s", name);
        long start = System.nanoTime();
        try {
            part.run();
        } catch (IOException | RuntimeException | Error e) {
            failures++;
            print("!! %s failed: %s", name, e);
            for (StackTraceElement frame : Arrays.copyOf(e.getStackTrace(), Math.min(12, e.getStackTrace().length))) {
                print("     at %s", frame);
            }
        }
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        print("   (%.1f s)", (System.nanoTime() - start) / 1e9);
    }

    private void errors() {
        for (LayerErrors.Case layer : LayerErrors.cases()) {
            print("%s", LayerErrors.convolution(layer, Convolutions.CUDNN));
        }
        for (LayerErrors.Case layer : LayerErrors.cases().subList(4, 8)) {
            print("%s", LayerErrors.normalization(layer, Convolutions.CUDNN));
        }
        for (int groups : new int[] {1, 2, 8}) {
            print("%s", LayerErrors.groups(groups));
        }
    }

    /** Whether runs from one state repeat bit for bit, with and without reuse of forward results. */
    private void equality(CudnnCase kind) {
        float[] first = trained(kind, Convolutions.CUDNN.withCache(cache()));
        print(
                "cuDNN repeats bit for bit %s; with forward results computed again equal %s; with statistics layer by layer equal"
                        + " %s; heuristic choice equal %s; distance from built in %.2e",
                Arrays.equals(first, trained(kind, Convolutions.CUDNN.withCache(cache()))),
                Arrays.equals(
                        first,
                        trained(kind, Convolutions.CUDNN.withCache(cache()).withReuseForward(false))),
                Arrays.equals(
                        first,
                        trained(kind, Convolutions.CUDNN.withCache(cache()).withJoinStatistics(false))),
                Arrays.equals(first, trained(kind, Convolutions.CUDNN.withMeasured(false))),
                LayerErrors.error(doubles(trained(kind, Convolutions.BUILT_IN)), doubles(first)));
    }

    private float[] trained(CudnnCase kind, Convolutions settings) {
        Nd4j.getRandom().setSeed(5);
        Model model = kind.create();
        try (MemOpt memopt = MemOpt.attach(model, with(settings))) {
            for (int i = 0; i < 8; i++) {
                Networks.fit(model, kind.data(kind.batch(), i % 4));
            }
            return model.params().dup('c').data().asFloat();
        }
    }

    /** Plain, unbounded scratch, default scratch, a quarter of what unbounded took. */
    private void steps(CudnnCase kind) throws IOException {
        Model model = kind.create();
        timed(kind, model, "built in", Convolutions.BUILT_IN, kind.steps());
        Convolutions unbounded = Convolutions.CUDNN.withScratchBytes(UNBOUNDED).withCache(cache());
        ConvolutionReport report = timed(kind, model, "cuDNN, 2 GiB", unbounded, kind.steps());
        if (report == null) {
            return;
        }
        writeRows(kind, report);
        for (ScratchBudget.Choice choice : thinned(report.front())) {
            print("   front: scratch %.1f MiB, passes %.3f ms", choice.scratchBytes() / MIB, choice.nanos() / 1e6);
        }
        long largest = report.rows().stream()
                .mapToLong(ConvolutionRow::scratchBytes)
                .max()
                .orElse(0);
        timed(kind, model, "cuDNN, default", Convolutions.CUDNN.withCache(cache()), kind.steps());
        timed(kind, model, "cuDNN, a quarter", unbounded.withScratchBytes(largest / 4), kind.steps());
        timed(kind, model, "cuDNN, no reuse", unbounded.withReuseForward(false), kind.steps());
    }

    /** Prints times and memory; null when there is no cuDNN. */
    private @Nullable ConvolutionReport timed(
            CudnnCase kind, Model model, String name, Convolutions settings, int steps) {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        System.gc();
        DataSet[] data = {kind.data(kind.batch(), 0), kind.data(kind.batch(), 1)};
        long free = freeBytes();
        try (MemOpt memopt = MemOpt.attach(model, with(settings));
                PeakWindow window = MemoryHooks.recording().ledger().openPeakWindow()) {
            MemoryLedger ledger = MemoryHooks.recording().ledger();
            double[] ms = new double[steps];
            long learning = 0;
            long early = 0;
            for (int i = 0; i < steps; i++) {
                long start = System.nanoTime();
                Networks.fit(model, data[i % data.length]);
                Nd4j.getExecutioner().commit();
                ms[i] = (System.nanoTime() - start) / 1e6;
                learning = i == 2 ? window.take().reservedBytes(MemorySpace.DEVICE) : learning;
                early = i == 3 ? ledger.reservedBytes(MemorySpace.DEVICE) : early;
            }
            double[] later = Arrays.copyOfRange(ms, Math.min(3, steps - 1), steps);
            Arrays.sort(later);
            ConvolutionReport report = memopt.convolutions().orElse(null);
            print(
                    "%-18s b%d: first %.0f ms, median %.2f ms (quartiles %.2f, %.2f), device ledger: peak of steps 1 to 3 %.1f MiB,"
                            + " of later ones %.1f, after step 4 %.1f, at the end %.1f, driver %.1f MiB, scratch %.1f MiB, score %.6f",
                    name,
                    kind.batch(),
                    ms[0],
                    later[later.length / 2],
                    later[later.length / 4],
                    later[later.length * 3 / 4],
                    learning / MIB,
                    window.take().reservedBytes(MemorySpace.DEVICE) / MIB,
                    early / MIB,
                    ledger.reservedBytes(MemorySpace.DEVICE) / MIB,
                    (free - freeBytes()) / MIB,
                    report == null ? 0 : report.scratchBytes() / MIB,
                    model.score());
            if (report != null) {
                report.notes().forEach(note -> print("   note: %s", note));
            }
            return report;
        }
    }

    private void writeRows(CudnnCase kind, ConvolutionReport report) throws IOException {
        StringBuilder text =
                new StringBuilder("layer\tpass\tshape\talgorithm\tmath\tparts\tscratch bytes\tnanoseconds\n");
        for (ConvolutionRow row : report.rows()) {
            text.append(String.join(
                            "\t",
                            row.layer(),
                            row.pass().name(),
                            row.shape(),
                            row.algorithm(),
                            row.math().name(),
                            Integer.toString(row.parts()),
                            Long.toString(row.scratchBytes()),
                            Long.toString(row.nanos())))
                    .append('\n');
        }
        Files.writeString(folder.resolve("algorithms-" + kind + ".tsv"), text);
        print(
                "   %s: %d passes, %.3f ms together, algorithms in algorithms-%s.tsv",
                report.library(),
                report.rows().size(),
                report.rows().stream().mapToLong(ConvolutionRow::nanos).sum() / 1e6,
                kind);
    }

    /** Scores over many steps on the same few batches. */
    private void curve(CudnnCase kind) {
        double[] plain = scores(kind, Convolutions.BUILT_IN);
        double[] again = scores(kind, Convolutions.BUILT_IN);
        double[] ours = scores(kind, Convolutions.CUDNN.withCache(cache()));
        double most = 0;
        double noise = 0;
        for (int i = 0; i < plain.length; i++) {
            most = Math.max(most, Math.abs(ours[i] - plain[i]));
            noise = Math.max(noise, Math.abs(again[i] - plain[i]));
            if (i % 20 == 0 || i == plain.length - 1) {
                print("   step %d: built in %.6f, cuDNN %.6f", i, plain[i], ours[i]);
            }
        }
        print("   largest difference of scores %.2e, of two built-in runs %.2e", most, noise);
    }

    private double[] scores(CudnnCase kind, Convolutions settings) {
        Nd4j.getRandom().setSeed(5);
        Model model = kind.create();
        double[] scores = new double[CURVE_STEPS];
        DataSet[] data = new DataSet[5];
        Arrays.setAll(data, i -> kind.data(kind.batch(), i));
        try (MemOpt memopt = MemOpt.attach(model, with(settings))) {
            for (int i = 0; i < scores.length; i++) {
                Networks.fit(model, data[i % data.length]);
                scores[i] = model.score();
            }
        }
        return scores;
    }

    /** The gradient of the whole network, built in and through cuDNN, against the built-in path in DOUBLE. */
    private void againstDouble(CudnnCase kind, int batch) {
        Model model = kind.create();
        withoutDropout(model);
        DataSet data = kind.data(batch, 0);
        double[] plain = gradient(model, data, Convolutions.BUILT_IN);
        double[] ours = gradient(model, data, Convolutions.CUDNN.withCache(cache()));
        double[] tf32 = gradient(model, data, Convolutions.CUDNN.withTf32(true).withCache(cache()));
        Model exact = model instanceof MultiLayerNetwork network
                ? network.convertDataType(DataType.DOUBLE)
                : ((ComputationGraph) model).convertDataType(DataType.DOUBLE);
        withoutDropout(exact);
        DataSet wide = new DataSet(
                data.getFeatures().castTo(DataType.DOUBLE), data.getLabels().castTo(DataType.DOUBLE));
        double[] truth = gradient(exact, wide, Convolutions.BUILT_IN);
        print(
                "gradient b%d, norm of difference over norm: built in from double %.2e, cuDNN from double %.2e, cuDNN from built in"
                        + " %.2e; with TF32 from double %.2e",
                batch,
                LayerErrors.error(truth, plain),
                LayerErrors.error(truth, ours),
                LayerErrors.error(plain, ours),
                LayerErrors.error(truth, tf32));
    }

    private static double[] gradient(Model model, DataSet data, Convolutions settings) {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        try (MemOpt memopt = MemOpt.attach(model, with(settings))) {
            if (model instanceof MultiLayerNetwork network) {
                network.setInput(data.getFeatures());
                network.setLabels(data.getLabels());
                network.computeGradientAndScore();
                return network.getFlattenedGradients().dup('c').data().asDouble();
            }
            ComputationGraph graph = (ComputationGraph) model;
            graph.setInputs(data.getFeatures());
            graph.setLabels(data.getLabels());
            graph.computeGradientAndScore();
            return graph.getFlattenedGradients().dup('c').data().asDouble();
        }
    }

    private static void withoutDropout(Model model) {
        Layer[] layers = model instanceof MultiLayerNetwork network
                ? network.getLayers()
                : ((ComputationGraph) model).getLayers();
        for (Layer layer : layers) {
            layer.conf().getLayer().setIDropout(null);
        }
    }

    /** At most a dozen points of the front, both ends among them. */
    private static List<ScratchBudget.Choice> thinned(List<ScratchBudget.Choice> front) {
        int step = Math.max(1, front.size() / 11);
        return IntStream.range(0, front.size())
                .filter(i -> i % step == 0 || i == front.size() - 1)
                .mapToObj(front::get)
                .toList();
    }

    private Path cache() {
        return folder.resolve("algorithms.json");
    }

    private static MemOptConfig with(Convolutions settings) {
        return MemOptConfig.builder().convolutions(settings).history(0).build();
    }

    private static double[] doubles(float[] values) {
        double[] wide = new double[values.length];
        Arrays.setAll(wide, i -> values[i]);
        return wide;
    }

    private static long freeBytes() {
        Nd4j.getExecutioner().commit();
        return NativeOpsHolder.getInstance().getDeviceNativeOps().getDeviceFreeMemory(0);
    }

    private void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values);
        System.out.println(line);
        out.println(line);
    }
}
