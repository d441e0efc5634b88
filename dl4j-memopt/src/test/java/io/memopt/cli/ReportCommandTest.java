// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportCommandTest {
    @TempDir
    Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void report_ofATrace_writesAPage() throws IOException {
        Path trace = folder.resolve("run.memopt");
        Path page = folder.resolve("run.html");
        BigTrace.write(trace, 3000);

        assertThat(run("report", trace.toString(), "-o", page.toString())).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains(page.toString());
        assertThat(Files.readString(page)).startsWith("<!doctype html>").endsWith("</html>\n");
    }

    @Test
    void report_ofNoTrace_saysWhich() {
        assertThat(run("report", folder.resolve("gone.memopt").toString(), "-o", "x.html"))
                .isEqualTo(ExitCode.FILE);
        assertThat(err.toString()).contains("gone.memopt");
    }

    private int run(String... arguments) {
        return Main.run(new PrintWriter(out), new PrintWriter(err), arguments);
    }
}
