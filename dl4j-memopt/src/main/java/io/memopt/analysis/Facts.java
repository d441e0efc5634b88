// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import java.util.Map;
import java.util.TreeMap;

/** Header lines that say something about the run, not about the format. */
final class Facts {
    private Facts() {}

    static Map<String, String> of(Map<String, String> header) {
        Map<String, String> facts = new TreeMap<>(header);
        facts.keySet().removeIf(key -> key.startsWith("enum.") || key.startsWith("event.") || key.startsWith("start."));
        return facts;
    }
}
