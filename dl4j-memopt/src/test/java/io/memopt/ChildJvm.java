// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A second JVM for a test: what ND4J does when it starts, and JVM flags. The child prints {@code key=value} lines; its log
 * goes to the error stream. One native thread, no collection for want of metaspace, and the fast compiler only: it ends before the
 * other one pays.
 */
final class ChildJvm {
    private static final long DEFAULT_TIMEOUT_SECONDS = 240;

    private final String main;
    private final List<String> options = new ArrayList<>(List.of("-XX:MetaspaceSize=256m", "-XX:TieredStopAtLevel=1"));
    private final List<String> arguments;
    private final Map<String, String> environment = new HashMap<>(Map.of("OMP_NUM_THREADS", "1"));
    private final List<String> classPath = new ArrayList<>(
            Arrays.asList(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                    .split(File.pathSeparator)));

    private long timeoutSeconds = DEFAULT_TIMEOUT_SECONDS;

    private ChildJvm(String main, List<String> arguments) {
        this.main = main;
        this.arguments = arguments;
    }

    static ChildJvm of(Class<?> main, String... arguments) {
        return new ChildJvm(main.getName(), List.of(arguments));
    }

    ChildJvm options(String... more) {
        options.addAll(List.of(more));
        return this;
    }

    ChildJvm environment(String variable, String value) {
        environment.put(variable, value);
        return this;
    }

    /** Waits so long for its end, and not {@value #DEFAULT_TIMEOUT_SECONDS} s. */
    ChildJvm within(long seconds) {
        timeoutSeconds = seconds;
        return this;
    }

    /** Puts {@code directory} before everything else. */
    ChildJvm classPathFirst(Path directory) {
        classPath.add(0, directory.toString());
        return this;
    }

    /** Takes away the entries whose file name begins with {@code prefix}. */
    ChildJvm classPathWithout(String prefix) {
        classPath.removeIf(entry -> new File(entry).getName().startsWith(prefix));
        return this;
    }

    /** Starts it and waits for its end; fails when that takes too long. */
    Result run() throws IOException, InterruptedException {
        Path out = Files.createTempFile("child", ".out");
        Path err = Files.createTempFile("child", ".err");
        Process process = process(out, err);
        try {
            boolean ended = process.waitFor(timeoutSeconds, TimeUnit.SECONDS);
            Result result = new Result(ended ? process.exitValue() : -1, read(out), read(err));
            if (!ended) {
                throw new AssertionError("Still running after " + timeoutSeconds + " s\n" + result);
            }
            return result;
        } finally {
            process.destroyForcibly();
            Files.deleteIfExists(out);
            Files.deleteIfExists(err);
        }
    }

    private Process process(Path out, Path err) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-cp", String.join(File.pathSeparator, classPath), main));
        command.addAll(arguments);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        builder.environment().putAll(environment);
        return builder.start();
    }

    private static String read(Path file) throws IOException {
        return Files.readString(file, StandardCharsets.UTF_8);
    }

    /** What a child left behind. */
    record Result(int exit, String out, String err) {

        /** This result, if the child ended by itself and well. */
        Result ok() {
            if (exit != 0) {
                throw new AssertionError("Exit code " + exit + "\n" + this);
            }
            return this;
        }

        String text(String key) {
            return out.lines()
                    .filter(line -> line.startsWith(key + "="))
                    .map(line -> line.substring(key.length() + 1))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("No line '" + key + "=' in\n" + this));
        }

        long number(String key) {
            return Long.parseLong(text(key));
        }
    }
}
