// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What a network does to memory, pass after pass: training iterations or calls of {@code output()}.
 *
 * @param first the first pass, which may differ
 * @param later every pass after it
 * @param rules how the workspaces named in the steps learn their size
 */
record Passes(List<Step> first, List<Step> later, Map<String, WorkspaceRules> rules) {

    Passes {
        first = List.copyOf(first);
        later = List.copyOf(later);
        rules = Map.copyOf(rules);
    }

    WorkspaceRules rulesOf(String workspace) {
        return Objects.requireNonNull(rules.get(workspace), workspace);
    }
}
