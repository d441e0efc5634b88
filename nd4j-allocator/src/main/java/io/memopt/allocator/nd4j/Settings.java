// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The system properties, for a whole JVM and without a change of code. Each is {@code true} or {@code false}; anything else
 * is warned of and taken as the default.
 */
public final class Settings {
    /** On by default. Off: nothing is installed at all, neither at ND4J's start nor by an attach or a listener. */
    public static final String ENABLED = "memopt.enabled";

    /** On by default. Off: recording begins with the first attach, not with ND4J's start. */
    public static final String EARLY = "memopt.early";

    /** Off by default. On: memory tests write their baselines and compare nothing. */
    public static final String UPDATE_BASELINES = "memopt.updateBaselines";

    /** Off by default. On: phases and layers are shown as ranges in the timelines of NVIDIA's profilers. */
    public static final String NVTX = "memopt.nvtx";

    private static final Logger log = LoggerFactory.getLogger(Settings.class);
    private static final String PREFIX = "memopt.";
    private static final List<String> KNOWN = List.of(EARLY, ENABLED, NVTX, UPDATE_BASELINES);
    private static final AtomicBoolean checked = new AtomicBoolean();

    private Settings() {}

    /** False when everything is to stay out of ND4J. */
    public static boolean enabled() {
        return isOn(System.getProperties(), ENABLED);
    }

    /** True when the property {@code name} of this JVM says so, or says nothing and is on by default. */
    public static boolean isOn(String name) {
        return isOn(System.getProperties(), name);
    }

    static boolean early() {
        return enabled() && isOn(System.getProperties(), EARLY);
    }

    /** Warns once per JVM of properties that look like ours and are not, or have no value that we know. */
    public static void check() {
        if (!checked.getAndSet(true)) {
            problems(System.getProperties()).forEach(log::warn);
        }
    }

    static List<String> problems(Properties properties) {
        List<String> problems = new ArrayList<>();
        for (String name : new TreeSet<>(properties.stringPropertyNames())) {
            String value = properties.getProperty(name);
            if (!name.startsWith(PREFIX)) {
                continue;
            }
            if (!KNOWN.contains(name)) {
                problems.add("System property " + name + "=" + value + " is not known and has no effect. Known are "
                        + String.join(", ", KNOWN) + ".");
            } else if (!isBoolean(value)) {
                problems.add("System property " + name + "=" + value + ", expected true or false; taken as "
                        + byDefault(name) + ".");
            }
        }
        return problems;
    }

    static boolean isOn(Properties properties, String name) {
        String value = properties.getProperty(name, "");
        return isBoolean(value) ? value.strip().equalsIgnoreCase("true") : byDefault(name);
    }

    private static boolean byDefault(String name) {
        return !name.equals(UPDATE_BASELINES) && !name.equals(NVTX);
    }

    private static boolean isBoolean(String value) {
        return value.strip().equalsIgnoreCase("true") || value.strip().equalsIgnoreCase("false");
    }
}
