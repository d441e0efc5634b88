// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.AllocationLimit;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.recording.PeakWindow;
import io.memopt.analysis.Exactness;
import io.memopt.guard.OutOfMemory;
import io.memopt.strategy.budget.BudgetException;
import io.memopt.strategy.budget.BudgetReport;
import io.memopt.strategy.precision.Precision;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Every way to fit on a CUDA backend, or on a CPU; a program, because the tests' class path has no CUDA. For each network one line a
 * way: what training took where arrays lie, by the books, its median step, and whether its parameters are those of plain training
 * bit for bit or how far they are from them; or why it was refused. Plain training is run twice, since not every network repeats itself
 * on a GPU.
 *
 * <p>Arguments: {@code NETWORK,batch,steps} each, with a name of {@link Networks} or of {@link CudnnCase}.
 */
public final class CudaFit {
    private static final double MB = 1e6;
    private static final int PARTS = 4;
    private static final int[] BUDGETS = {70, 50};
    /** Of what plain training takes beyond the network: less than it needs, and enough for a plan or parts. */
    private static final double LIMIT_SHARE = 0.6;

    private static final int STACK = 6;
    /** No limit; a budget is decided with the first minibatch. */
    private static final Limiting UNREHEARSED = memopt -> () -> {};

    private final String name;
    private final int batch;
    private final int steps;
    private final Path folder;

    private CudaFit(String name, int batch, int steps, Path folder) {
        this.name = name;
        this.batch = batch;
        this.steps = steps;
        this.folder = folder;
    }

    private DataSet data(int step) {
        return isFamily(name)
                ? Networks.valueOf(name).data(batch, step)
                : CudnnCase.valueOf(name).data(batch, step);
    }

    /**
     * How one run went.
     *
     * @param peakBytes most that was reserved beyond what was there before the network was made, all minibatches but one among that
     */
    private record Run(List<Float> parameters, long peakBytes, double medianMillis, String remark) {}

    /** Something to do between the making of a network and its training; returns what is to be closed afterwards. */
    private interface Limiting {
        AutoCloseable begin(MemOpt memopt);
    }

    public static void main(String[] arguments) throws IOException {
        Path folder = Files.createTempDirectory("memopt-fit");
        System.out.println(Nd4jFacts.backend() + ", ND4J " + Nd4jFacts.version());
        for (String argument : arguments) {
            String[] parts = argument.split(",", -1);
            new CudaFit(parts[0], Integer.parseInt(parts[1]), Integer.parseInt(parts[2]), folder).compare();
        }
        System.exit(0);
    }

    private static boolean isFamily(String name) {
        return Arrays.stream(Networks.values()).anyMatch(each -> each.name().equals(name));
    }

    private Model create() {
        return isFamily(name)
                ? Networks.valueOf(name).create(WorkspaceMode.ENABLED)
                : CudnnCase.valueOf(name).create();
    }

    private void compare() {
        print("%s, batch %d, %d steps", name, batch, steps);
        Run plain = attempt("plain", null, MemOptConfig.builder());
        if (plain == null) {
            return;
        }
        attempt("plain again", plain, MemOptConfig.builder());
        attempt("checkpointed", plain, MemOptConfig.builder().activationShare(0));
        int part = Math.max(1, batch / PARTS);
        attempt("micro-batches of " + part, plain, MemOptConfig.builder().microBatch(part));
        attempt("updater state offloaded", plain, MemOptConfig.builder().offloadUpdaterState(folder));
        attempt("mixed precision", plain, MemOptConfig.builder().precision(Precision.MIXED_HALF));
        guard("guard, bitwise", plain, OutOfMemory.RECOVER_BITWISE, MemOptConfig.builder());
        guard("guard", plain, OutOfMemory.RECOVER, MemOptConfig.builder());
        guard(
                "guard, mixed precision",
                plain,
                OutOfMemory.RECOVER,
                MemOptConfig.builder().precision(Precision.MIXED_HALF));
        attempt(
                "budget 98 %, decided as minibatches come",
                plain, MemOptConfig.builder().budget(plain.peakBytes() * 98 / 100 + " B"), UNREHEARSED);
        for (int percent : BUDGETS) {
            for (Exactness exactness : new Exactness[] {Exactness.BITWISE, Exactness.REORDERED}) {
                attempt(
                        "budget " + percent + " %, " + exactness,
                        plain,
                        MemOptConfig.builder()
                                .budget(plain.peakBytes() * percent / 100 + " B")
                                .exactness(exactness)
                                .outOfMemory(OutOfMemory.GUARD)
                                .postMortems(folder));
            }
        }
    }

    /** Trains under an exact limit on live bytes that plain training exceeds. */
    private void guard(String way, Run plain, OutOfMemory mode, MemOptConfig.Builder config) {
        long room = (long) (LIMIT_SHARE * plain.peakBytes());
        attempt(way + ", limit " + mb(room), plain, config.outOfMemory(mode).postMortems(folder), memopt -> {
            AllocationLimit limit = MemoryHooks.limit(AllocationLimit.NONE);
            limit.limit(limit.liveBytes() + room);
            return limit;
        });
    }

    private @Nullable Run attempt(String way, @Nullable Run plain, MemOptConfig.Builder config) {
        return attempt(way, plain, config, memopt -> () -> {});
    }

    /** Null when the way was refused or failed, which is printed. */
    private @Nullable Run attempt(String way, @Nullable Run plain, MemOptConfig.Builder config, Limiting limiting) {
        try {
            Run run = train(config.build(), limiting);
            print(
                    "  %-40s peak %10s  step %9.3f ms  %s%s",
                    way, mb(run.peakBytes()), run.medianMillis(), plain == null ? "" : apart(run, plain), run.remark());
            return run;
        } catch (Exception | LinkageError | OutOfMemoryError e) {
            print("  %-40s refused: %s", way, e.getMessage());
            if (!(e instanceof IllegalArgumentException || e instanceof BudgetException)) {
                StackTraceElement[] stack = e.getStackTrace();
                print("    %s", Arrays.asList(stack).subList(0, Math.min(STACK, stack.length)));
            }
            return null;
        } finally {
            MemoryHooks.uninstall();
        }
    }

    private Run train(MemOptConfig config, Limiting limiting) throws Exception {
        MemoryHooks.uninstall();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        System.gc();
        MemorySpace space = Nd4jFacts.isCuda() ? MemorySpace.DEVICE : MemorySpace.HOST;
        MemoryHooks.install();
        List<DataSet> minibatches =
                IntStream.range(0, steps).mapToObj(this::data).toList();
        minibatches.forEach(each -> arrays(each).forEach(INDArray::sumNumber)); // they are where training needs them
        DataSet largest = largest(minibatches);
        System.gc(); // what making them left
        PeakWindow window = MemoryHooks.recording().ledger().openPeakWindow();
        long before = MemoryHooks.recording().ledger().reservedBytes(space);
        Nd4j.getRandom().setSeed(7);
        Model model = create();
        double[] millis = new double[steps];
        String remark;
        try (MemOpt memopt = MemOpt.attach(model, config);
                AutoCloseable limit = limiting.begin(memopt)) {
            if (config.budget().isSet() && limiting != UNREHEARSED) {
                memopt.rehearse(largest);
            }
            for (int i = 0; i < steps; i++) {
                Nd4j.getRandom().setStates(7, i + 1);
                long begun = System.nanoTime();
                Networks.fit(model, minibatches.get(i));
                Nd4j.getExecutioner().commit();
                millis[i] = (System.nanoTime() - begun) / 1e6;
            }
            remark = remark(memopt);
        }
        long peak = window.take().reservedBytes(space) - before + bytes(largest);
        window.close();
        minibatches.forEach(each -> arrays(each).filter(INDArray::closeable).forEach(INDArray::close));
        double[] steady = Arrays.copyOfRange(millis, millis.length / 2, millis.length);
        Arrays.sort(steady);
        return new Run(parameters(model), peak, steady[steady.length / 2], remark);
    }

    /** Minibatches of texts differ in length, and a budget is that of the one it was decided for. */
    private static DataSet largest(List<DataSet> minibatches) {
        return minibatches.stream()
                .max(Comparator.comparingLong(CudaFit::bytes))
                .orElseThrow();
    }

    private static long bytes(DataSet minibatch) {
        return arrays(minibatch)
                .mapToLong(array -> array.length() * array.dataType().width())
                .sum();
    }

    private static Stream<INDArray> arrays(DataSet minibatch) {
        return Stream.of(
                        minibatch.getFeatures(),
                        minibatch.getLabels(),
                        minibatch.getFeaturesMaskArray(),
                        minibatch.getLabelsMaskArray())
                .filter(Objects::nonNull);
    }

    private static List<Float> parameters(Model model) {
        float[] values = model.params().dup().data().asFloat();
        Float[] boxed = new Float[values.length];
        Arrays.setAll(boxed, i -> values[i]);
        return Arrays.asList(boxed);
    }

    private static String remark(MemOpt memopt) {
        String recovered = memopt.summary().notes().stream()
                .filter(note -> note.contains("ran out of memory"))
                .findFirst()
                .map(note -> "; " + note)
                .orElse("");
        return recovered + memopt.budget().map(CudaFit::text).orElse("");
    }

    private static String text(BudgetReport report) {
        return String.format(
                Locale.ROOT,
                "; %s, predicted %s and %.3f ms, by the budget's books %s, decided in %.1f s with at most %s, limit %s",
                report.chosen().strategy(),
                mb(report.chosen().peakBytes()),
                report.chosen().stepMillis(),
                mb(report.actualPeakBytes().orElse(0)),
                report.decidingMillis() / 1000,
                mb(report.decidingBytes()),
                mb(report.limitBytes()));
    }

    /** In bits, or by the largest difference against the largest parameter. */
    private static String apart(Run run, Run plain) {
        double most = 0;
        double largest = 0;
        boolean same = true;
        for (int i = 0; i < plain.parameters().size(); i++) {
            float one = run.parameters().get(i);
            float other = plain.parameters().get(i);
            same &= Float.floatToIntBits(one) == Float.floatToIntBits(other);
            most = Math.max(most, Math.abs(one - other));
            largest = Math.max(largest, Math.abs(other));
        }
        return same
                ? "bitwise equal to plain"
                : String.format(Locale.ROOT, "apart by %.2g, largest parameter %.2g", most, largest);
    }

    private static String mb(long bytes) {
        return String.format(Locale.ROOT, "%.2f MB", bytes / MB);
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
