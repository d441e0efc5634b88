// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.recording.ByteSize;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads sizes and shares as people write them. */
final class Amounts {
    private static final Pattern PERCENT = Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*%");

    private Amounts() {}

    /**
     * As {@link ByteSize#parse}.
     *
     * @throws IllegalArgumentException if it reads otherwise, or exceeds 2^63 - 1
     */
    static long bytes(String text) {
        return ByteSize.parse(text);
    }

    /**
     * The share that e.g. {@code "5 %"} is, 0.05.
     *
     * @throws IllegalArgumentException if it reads otherwise
     */
    static double share(String text) {
        Matcher matcher = PERCENT.matcher(text.strip());
        if (!matcher.matches()) {
            throw new IllegalArgumentException("share='" + text + "', expected a percentage, e.g. '5 %'");
        }
        return Double.parseDouble(matcher.group(1)) / 100;
    }
}
