// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What goes to the built-in path and why, each said once. Bounded; threading: safe. */
final class Refusals {
    private static final Logger log = LoggerFactory.getLogger(Refusals.class);
    private static final int MOST = 256;

    private final Set<String> said = new LinkedHashSet<>();

    /** @param reason completes "goes to the built-in path: ..." */
    synchronized void say(String layer, String reason) {
        String text = "Layer " + layer + " goes to the built-in path: " + reason;
        if (said.size() < MOST && said.add(text)) {
            log.info(text);
        }
    }

    synchronized List<String> all() {
        return List.copyOf(said);
    }
}
