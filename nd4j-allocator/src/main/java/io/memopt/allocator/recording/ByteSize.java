// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.Locale;

/** The one way to write sizes in messages: IEC unit and exact bytes, {@code 384.0 MiB (402653184 B)}. */
public final class ByteSize {
    private static final String[] UNITS = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

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
}
