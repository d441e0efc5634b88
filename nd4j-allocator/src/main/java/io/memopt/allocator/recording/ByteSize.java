// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The one way to write sizes in messages, {@code 384.0 MiB (402653184 B)}, and to read those that people write. */
public final class ByteSize {
    private static final String[] UNITS = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    private static final Pattern WRITTEN = Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*([A-Za-z]*)");
    private static final Map<String, Long> READ_UNITS = Map.of(
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

    private ByteSize() {}

    /** Unit with one decimal, two from GiB on, then the exact number; below 1 KiB only {@code 1023 B}. */
    public static String format(long bytes) {
        String exact = bytes + " B";
        String scaled = scaled(bytes);
        return scaled.equals(exact) ? exact : scaled + " (" + exact + ")";
    }

    /** Without the exact number, for prose in which it would be noise. */
    public static String scaled(long bytes) {
        double value = Math.abs((double) bytes);
        if (value < 1024) {
            return bytes + " B";
        }
        int unit = -1;
        do {
            value /= 1024;
            unit++;
        } while (value >= 1023.95 && unit < UNITS.length - 1); // 1023.95 would be printed as 1024.0
        String number = String.format(Locale.ROOT, unit < 2 ? "%.1f" : "%.2f", value);
        return (bytes < 0 ? "-" : "") + number + " " + UNITS[unit];
    }

    /**
     * Bytes of e.g. {@code "200 MiB"}, {@code "1.5 GB"}, {@code "4096"}; fractions of a byte are cut off.
     *
     * @throws IllegalArgumentException if it reads otherwise, or exceeds 2^63 - 1
     */
    public static long parse(String text) {
        Matcher matcher = WRITTEN.matcher(text.strip());
        Long unit = matcher.matches() ? READ_UNITS.get(matcher.group(2).toLowerCase(Locale.ROOT)) : null;
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
}
