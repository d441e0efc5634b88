// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PlanCommandTest {
    @TempDir
    Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void plan_ofAProblem_writesItsOffsets() throws IOException {
        Path input = write("""
                id,lower,upper,size
                b1,0,3,4
                b2,3,9,4
                b3,0,9,4
                b4,9,21,4
                b5,0,21,4
                """);

        assertThat(plan(input)).isEqualTo(ExitCode.OK);

        JsonObject json = json();
        assertThat(json.get("height").getAsLong()).isEqualTo(12);
        assertThat(json.get("lowerBound").getAsLong()).isEqualTo(12);
        assertThat(json.get("optimal").getAsBoolean()).isTrue();
        assertThat(json.get("seconds").getAsDouble()).isBetween(0.0, 600.0);
        assertThat(Files.readAllLines(output()))
                .startsWith("id,lower,upper,size,offset")
                .hasSize(6)
                .allSatisfy(line -> assertThat(line.split(",")).hasSize(5));
    }

    @Test
    void plan_withEveryColumn_respectsIt() throws IOException {
        Path input = write("""
                buffer,size,start,end,alignment,gaps,offset,hint
                a,4,0,8,1,2-4,0,7
                b,4,2,4,4,,,7
                c,3,0,8,8,4-5@0:1 6-7,8,
                d,2,6,7,1,,,
                """);

        assertThat(plan(input)).isEqualTo(ExitCode.OK);

        assertThat(json().get("height").getAsLong()).isEqualTo(11);
        assertThat(Files.readAllLines(output()))
                .contains("a,4,0,8,1,2-4,0,7", "b,4,2,4,4,,0,7", "c,3,0,8,8,4-5@0:1 6-7,8,");
    }

    @Test
    void plan_intoTooLittle_saysThatItIsImpossible() throws IOException {
        Path input = write("id,lower,upper,size\na,0,3,4\nb,2,5,4\n");

        assertThat(plan(input, "--capacity", "7")).isEqualTo(ExitCode.OVER);
        assertThat(json().get("capacity").getAsString()).isEqualTo("impossible");
        assertThat(err.toString()).contains("No plan fits into 7 B", "at least 8 B");

        assertThat(plan(input, "--capacity", "8")).isEqualTo(ExitCode.OK);
        assertThat(json().get("capacity").getAsString()).isEqualTo("met");
    }

    @Test
    void plan_withoutTime_saysThatItFoundNone() throws IOException {
        Path input = Files.copy(
                Path.of("../nd4j-allocator/src/test/resources/plan/minimalloc/E.1048576.csv"),
                folder.resolve("in.csv"));

        assertThat(plan(input, "--capacity", "1048576", "--timeout", "0")).isEqualTo(ExitCode.OVER);
        assertThat(json().get("capacity").getAsString()).isEqualTo("not found");
        assertThat(err.toString()).contains("within 0.0 s", "Try a longer --timeout");
        assertThat(output()).exists();
    }

    @Test
    void plan_ofNonsense_saysWhere() throws IOException {
        assertThat(plan(write("id,lower,size\n"))).isEqualTo(ExitCode.FILE);
        assertThat(err.toString()).contains("line 1", "id,lower,upper,size");
        assertThat(plan(write("id,lower,upper,size\na,0,3,4\nb,3,x,4\n"))).isEqualTo(ExitCode.FILE);
        assertThat(err.toString()).contains("line 3", "'x'");
        assertThat(plan(write("id,lower,upper,size\na,3,3,4\n"))).isEqualTo(ExitCode.FILE);
        assertThat(err.toString()).contains("start=3, end=3");
        assertThat(plan(write("id,lower,upper,size,gaps\na,0,9,4,1_3\n"))).isEqualTo(ExitCode.FILE);
        assertThat(err.toString()).contains("from-to", "1_3");
        assertThat(plan(write("id,lower,upper,size,offset\na,0,9,4,0\nb,0,9,4,3\n")))
                .isEqualTo(ExitCode.FILE);
        assertThat(err.toString()).contains("Cannot plan", "fixed");
        Path good = write("id,lower,upper,size\na,0,3,4\n");
        assertThat(plan(good, "--timeout", "-1")).isEqualTo(ExitCode.USAGE);
        assertThat(plan(good, "--capacity", "-1")).isEqualTo(ExitCode.USAGE);
    }

    /** With {@code -Dplan.keep=FOLDER} the problems stay there. */
    @ParameterizedTest
    @EnumSource(
            value = Networks.class,
            names = {"LENET", "VGG", "RESIDUAL_GRAPH"})
    void plan_ofARecordedTraining_isWithinThreePerMille(Networks family) throws IOException {
        Path trace = train(family);
        Path problem = folder.resolve("in.csv");
        assertThat(run("export", trace.toString(), "--format", "minimalloc-csv", "-o", problem.toString()))
                .isZero();

        assertThat(plan(problem)).isEqualTo(ExitCode.OK);

        JsonObject json = json();
        long bound = json.get("lowerBound").getAsLong();
        assertThat(bound).isPositive();
        assertThat((double) json.get("height").getAsLong()).isLessThanOrEqualTo(1.003 * bound);
        String keep = System.getProperty("plan.keep");
        if (keep != null) {
            Files.copy(problem, Path.of(keep, family.name() + ".csv"));
        }
    }

    private Path train(Networks family) throws IOException {
        Path trace = folder.resolve("run.memopt");
        Model model = family.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().trace(trace).build())) {
            for (int i = 0; i < 2; i++) {
                Networks.fit(model, family.data(16, i));
            }
        } finally {
            MemoryHooks.uninstall();
        }
        return trace;
    }

    private Path write(String text) throws IOException {
        return Files.writeString(folder.resolve("in.csv"), text);
    }

    private Path output() {
        return folder.resolve("out.csv");
    }

    private JsonObject json() {
        return JsonParser.parseString(out.toString()).getAsJsonObject();
    }

    private int plan(Path input, String... more) {
        String[] args = new String[4 + more.length];
        args[0] = "plan";
        args[1] = input.toString();
        args[2] = "-o";
        args[3] = output().toString();
        System.arraycopy(more, 0, args, 4, more.length);
        return run(args);
    }

    private int run(String... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }
}
