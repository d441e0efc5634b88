// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports in real Chromium, by the programs in src/test/browser: {@code mvn test -Pbrowser -pl dl4j-memopt -am}. Skips
 * aloud without Node.js, Chromium or {@code npm ci} in that folder.
 */
@Tag("browser")
class ReportBrowserTest {
    private static final Logger log = LoggerFactory.getLogger(ReportBrowserTest.class);
    private static final Path PROGRAMS = Path.of("src/test/browser").toAbsolutePath();

    @TempDir
    Path folder;

    @BeforeAll
    static void needsABrowser() throws IOException, InterruptedException {
        require(Files.isExecutable(chromium()), chromium() + " is missing: apt-get install chromium");
        require(runs(List.of("node", "--version")), "node is missing: apt-get install nodejs");
        if (!Files.isDirectory(PROGRAMS.resolve("node_modules/playwright-core"))) {
            boolean installed = runs(List.of("npm", "ci", "--no-audit", "--no-fund"));
            require(installed, "playwright-core is missing: npm ci in " + PROGRAMS);
        }
    }

    @Test
    void report_ofTenMillionEvents_paintsAtOnceAndMovesSmoothly() throws IOException, InterruptedException {
        Path trace = folder.resolve("large.memopt");
        SyntheticTraining.write(trace, 10_000_000);
        HtmlReport.write(trace, folder.resolve("large.html"));

        JsonObject measured = run("measure.mjs", folder.resolve("large.html"));

        log.info("{}", measured);
        assertThat(measured.get("firstPictureMs").getAsDouble()).isLessThan(2_000);
        for (Map.Entry<String, JsonElement> movement :
                measured.getAsJsonObject("moving").entrySet()) {
            assertThat(movement.getValue().getAsJsonObject().get("medianMs").getAsDouble())
                    .as(movement.getKey())
                    .isLessThan(34);
        }
    }

    @Test
    void report_ofTraining_canBeUsed() throws IOException, InterruptedException {
        Path trace = folder.resolve("vgg.memopt");
        try {
            ReportDemo.train(Networks.VGG, trace);
        } finally {
            MemoryHooks.uninstall();
        }
        HtmlReport.write(trace, folder.resolve("vgg.html"));

        JsonObject used = run("use.mjs", folder.resolve("vgg.html"));

        assertThat(used.getAsJsonArray("failures")).isEmpty();
        assertThat(used.get("checks").getAsInt()).isGreaterThan(15);
    }

    @Test
    void report_ofHostileNames_runsNoneOfThem() throws IOException, InterruptedException {
        Path trace = folder.resolve("hostile.memopt");
        SyntheticTraining.write(trace, 20_000, "</script><img src=x onerror=document.title='pwned'><b>");
        HtmlReport.write(trace, folder.resolve("hostile.html"));

        JsonObject used = run("use.mjs", folder.resolve("hostile.html"));

        assertThat(used.getAsJsonArray("failures")).isEmpty();
    }

    private JsonObject run(String program, Path report) throws IOException, InterruptedException {
        Path output = folder.resolve(program + ".out");
        Process process = new ProcessBuilder("node", program, report.toString())
                .directory(PROGRAMS.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        boolean ended = process.waitFor(5, TimeUnit.MINUTES);
        process.destroyForcibly();
        String text = Files.readString(output, StandardCharsets.UTF_8);
        assertThat(ended).as(text).isTrue();
        assertThat(process.exitValue()).as(text).isZero();
        return JsonParser.parseString(text).getAsJsonObject();
    }

    private static boolean runs(List<String> command) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(command)
                    .directory(PROGRAMS.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return process.waitFor(2, TimeUnit.MINUTES) && process.exitValue() == 0;
        } catch (IOException e) {
            return false;
        }
    }

    private static Path chromium() {
        return Path.of(System.getenv().getOrDefault("CHROMIUM", "/usr/bin/chromium"));
    }

    private static void require(boolean there, String otherwise) {
        if (!there) {
            log.warn("SKIPPED: the tests of the report in a browser did not run. {}", otherwise);
        }
        assumeTrue(there, otherwise);
    }
}
