// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A parsed text exposition. */
final class Exposition {
    private static final Pattern SAMPLE = Pattern.compile("([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\\{(.*)\\})? (\\S+)");
    private static final Pattern LABEL = Pattern.compile("([a-zA-Z_]+)=\"((?:[^\"\\\\]|\\\\.)*)\"");

    final String text;
    final List<Sample> samples = new ArrayList<>();
    final Map<String, String> help = new LinkedHashMap<>();
    final Map<String, String> types = new LinkedHashMap<>();

    record Sample(String name, Map<String, String> labels, double value) {}

    Exposition(String text) {
        this.text = text;
        for (String line : text.split("\n", -1)) {
            String[] words = line.split(" ", 4);
            if (line.startsWith("# HELP ")) {
                help.put(words[2], words.length > 3 ? words[3] : "");
            } else if (line.startsWith("# TYPE ")) {
                types.put(words[2], words[3]);
            } else if (!line.isEmpty()) {
                samples.add(sample(line));
            }
        }
    }

    Set<String> names() {
        return samples.stream().map(Sample::name).collect(Collectors.toCollection(TreeSet::new));
    }

    List<Sample> of(String name) {
        return samples.stream().filter(s -> s.name().equals(name)).toList();
    }

    /** Sum over the samples of this name that carry all given labels; pairs of name and value. */
    double sum(String name, String... labels) {
        return of(name).stream()
                .filter(s -> {
                    for (int i = 0; i < labels.length; i += 2) {
                        if (!labels[i + 1].equals(s.labels().get(labels[i]))) {
                            return false;
                        }
                    }
                    return true;
                })
                .mapToDouble(Sample::value)
                .sum();
    }

    Set<String> values(String name, String label) {
        return of(name).stream().map(s -> s.labels().get(label)).collect(Collectors.toCollection(TreeSet::new));
    }

    private static Sample sample(String line) {
        Matcher sample = SAMPLE.matcher(line);
        if (!sample.matches()) {
            throw new AssertionError("not a sample: " + line);
        }
        Map<String, String> labels = new LinkedHashMap<>();
        Matcher label = LABEL.matcher(sample.group(2) == null ? "" : sample.group(2));
        while (label.find()) {
            labels.put(label.group(1), label.group(2));
        }
        String value = sample.group(3);
        return new Sample(sample.group(1), labels, value.equals("NaN") ? Double.NaN : Double.parseDouble(value));
    }
}
