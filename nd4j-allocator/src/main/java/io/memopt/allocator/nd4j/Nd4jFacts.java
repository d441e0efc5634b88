// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import java.util.Set;
import org.nd4j.linalg.factory.Nd4j;

/** Which ND4J is at work. */
public final class Nd4jFacts {
    /** Versions whose hooks are tested. */
    public static final Set<String> TESTED_VERSIONS = Set.of("1.0.0-M2.1", "1.0.0-M1.1");

    private Nd4jFacts() {}

    /** True when the CUDA backend was chosen. Initialises ND4J. */
    public static boolean isCuda() {
        return Nd4j.getExecutioner().getClass().getName().contains("jcublas");
    }

    /** Short name of the backend, e.g. {@code CpuBackend}. Initialises ND4J. */
    public static String backend() {
        return Nd4j.getBackend().getClass().getSimpleName();
    }

    /** The version of nd4j-api on the class path, or {@code "unknown"}. */
    public static String version() {
        String resource = "/META-INF/maven/org.nd4j/nd4j-api/pom.properties";
        try (InputStream in = Nd4j.class.getResourceAsStream(resource)) {
            Properties properties = new Properties();
            if (in != null) {
                properties.load(in);
            }
            return properties.getProperty("version", "unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }
}
