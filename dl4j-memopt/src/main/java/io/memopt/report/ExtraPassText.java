// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.ExtraPass;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Says how many passes were no iterations, and of what kind. */
final class ExtraPassText {
    private ExtraPassText() {}

    /** Empty when there were none. */
    static String of(Map<ExtraPass, Long> passes) {
        List<String> parts = new ArrayList<>();
        for (ExtraPass kind : ExtraPass.values()) {
            long many = passes.getOrDefault(kind, 0L);
            if (many > 0) {
                parts.add(many + " " + text(kind));
            }
        }
        return parts.isEmpty() ? "" : String.join(", ", parts) + "; none is an iteration";
    }

    private static String text(ExtraPass kind) {
        return switch (kind) {
            case TRIED -> "of copies, for forecasts";
            case REHEARSED -> "to rehearse or to decide";
            case VERIFIED -> "to verify plans";
            case REPEATED -> "undone for want of memory and repeated";
        };
    }
}
