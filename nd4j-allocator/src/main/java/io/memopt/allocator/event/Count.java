// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

import java.util.Locale;

/** The one way to write how many: {@code 1 pass}, {@code 2 passes}. */
public final class Count {
    private Count() {}

    /**
     * The number and the noun, in its plural unless the number is 1.
     *
     * @param noun a regular English one, in the singular; of several words the last is the one that changes
     */
    public static String of(long number, String noun) {
        return number + " " + noun(number, noun);
    }

    /** As {@link #of} with the number in groups of three digits. */
    public static String grouped(long number, String noun) {
        return String.format(Locale.ROOT, "%,d %s", number, noun(number, noun));
    }

    /** As {@link #of}, followed by the past tense of "to be". */
    public static String was(long number, String noun) {
        return of(number, noun) + (number == 1 ? " was" : " were");
    }

    /** How often: {@code once}, {@code 2 times}. */
    public static String times(long number) {
        return number == 1 ? "once" : of(number, "time");
    }

    private static String noun(long number, String noun) {
        if (number == 1) {
            return noun;
        }
        boolean hisses = noun.endsWith("s") || noun.endsWith("x") || noun.endsWith("ch") || noun.endsWith("sh");
        if (hisses) {
            return noun + "es";
        }
        boolean consonantY = noun.endsWith("y") && "aeiou".indexOf(noun.charAt(noun.length() - 2)) < 0;
        return consonantY ? noun.substring(0, noun.length() - 1) + "ies" : noun + "s";
    }
}
