// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads sizes and shares as people write them. */
final class Amounts {
    private static final Pattern SIZE = Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*([A-Za-z]*)");
    private static final Pattern PERCENT = Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*%");
    private static final Map<String, Long> UNITS = Map.of(
            "",
            1L,
            "b",
            1L,
            "kib",
            1L << 10,
            "mib",
            1L << 20,
            "gib",
            1L << 30,
            "tib",
            1L << 40,
            "kb",
            1000L,
            "mb",
            1_000_000L,
            "gb",
            1_000_000_000L,
            "tb",
            1_000_000_000_000L);

    private Amounts() {}

    /**
     * Bytes of e.g. {@code "200 MiB"}, {@code "1.5 GB"}, {@code "4096"}; fractions of a byte are cut off.
     *
     * @throws IllegalArgumentException if it reads otherwise, or exceeds 2^63 - 1
     */
    static long bytes(String text) {
        Matcher matcher = SIZE.matcher(text.strip());
        Long unit = matcher.matches() ? UNITS.get(matcher.group(2).toLowerCase(Locale.ROOT)) : null;
        if (unit == null) {
            throw new IllegalArgumentException("size='" + text
                    + "', expected a number and B, KiB, MiB, GiB, TiB, KB, MB, GB or TB, e.g. '200 MiB'");
        }
        try {
            return new BigDecimal(matcher.group(1))
                    .multiply(BigDecimal.valueOf(unit))
                    .setScale(0, RoundingMode.DOWN)
                    .longValueExact();
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("size='" + text + "', expected at most 2^63 - 1 bytes", e);
        }
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
