// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import com.google.gson.JsonObject;
import io.memopt.allocator.plan.Certificate;
import io.memopt.allocator.plan.MemoryPlan;
import io.memopt.allocator.plan.MemoryPlanner;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.cli.format.PlanCsv;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code memopt plan}. */
@Command(
        name = "plan",
        description = "Puts buffers with known lifetimes into as little memory as it can, and says how good that is.",
        mixinStandardHelpOptions = true,
        footerHeading = "%nExamples:%n",
        footer = {
            "  memopt export training.memopt --format minimalloc-csv -o buffers.csv",
            "  memopt plan buffers.csv -o planned.csv",
            "  memopt plan buffers.csv --capacity 1048576 --timeout 30 -o planned.csv"
        })
final class PlanCommand implements Callable<Integer> {
    private static final double MOST_SECONDS = 1e9;

    @Spec
    private CommandSpec spec;

    @Parameters(
            paramLabel = "INPUT",
            description = "CSV with the columns id,lower,upper,size and optionally alignment, gaps, offset and hint,"
                    + " as MiniMalloc reads it.")
    private Path input;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            required = true,
            description = "The same with the offsets; an existing file is replaced. Also written when it is too high.")
    private Path output;

    @Option(
            names = "--capacity",
            paramLabel = "BYTES",
            description =
                    "Stop as soon as the plan fits. Exit code 1 when none was found. Left out: as low as time allows.")
    private @Nullable Long capacity;

    @Option(names = "--timeout", paramLabel = "SECONDS", description = "Most time to search; 10 when left out.")
    private double timeoutSeconds = 10;

    /** Picocli fills the fields in. */
    @SuppressWarnings("NullAway.Init")
    PlanCommand() {}

    @Override
    public Integer call() throws IOException {
        refuseNonsense();
        PlanCsv csv = PlanCsv.read(input);
        PlanOptions options = PlanOptions.within(Duration.ofNanos((long) (timeoutSeconds * 1e9)));
        MemoryPlan plan;
        try {
            plan = MemoryPlanner.plan(csv.problem(), capacity == null ? options : options.withCapacity(capacity));
        } catch (IllegalArgumentException e) {
            throw new IOException("Cannot plan " + input + ": " + e.getMessage(), e);
        }
        csv.write(plan, output);
        Certificate certificate = plan.certificate();
        spec.commandLine().getOut().println(json(certificate));
        if (capacity == null || certificate.height() <= capacity) {
            return ExitCode.OK;
        }
        spec.commandLine().getErr().println(excuse(certificate, capacity));
        return ExitCode.OVER;
    }

    private void refuseNonsense() {
        if (!(timeoutSeconds >= 0 && timeoutSeconds <= MOST_SECONDS)) {
            throw new ParameterException(
                    spec.commandLine(), "--timeout=" + timeoutSeconds + ", expected 0 to 1e9 seconds");
        }
        if (capacity != null && capacity < 0) {
            throw new ParameterException(spec.commandLine(), "--capacity=" + capacity + ", expected 0 bytes or more");
        }
    }

    private JsonObject json(Certificate certificate) {
        JsonObject json = new JsonObject();
        json.addProperty("height", certificate.height());
        json.addProperty("lowerBound", certificate.lowerBound());
        json.addProperty("optimal", certificate.optimal());
        json.addProperty("seconds", certificate.time().toNanos() / 1e9);
        json.addProperty("method", certificate.method().name());
        json.addProperty("nodes", certificate.nodes());
        if (capacity != null) {
            json.addProperty("capacity", verdict(certificate, capacity));
        }
        return json;
    }

    private static String verdict(Certificate certificate, long capacity) {
        if (certificate.height() <= capacity) {
            return "met";
        }
        return certificate.provesImpossible(capacity) ? "impossible" : "not found";
    }

    private String excuse(Certificate certificate, long wanted) {
        String best = "The best plan, in " + output + ", takes " + ByteSize.format(certificate.height());
        return certificate.provesImpossible(wanted)
                ? "No plan fits into " + ByteSize.format(wanted) + ": every plan takes at least "
                        + ByteSize.format(certificate.lowerBound()) + ". " + best + "."
                : "No plan was found that fits into " + ByteSize.format(wanted) + " within " + timeoutSeconds
                        + " s; it may exist, as the lower bound is " + ByteSize.format(certificate.lowerBound()) + ". "
                        + best + ". Try a longer --timeout.";
    }
}
