// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What a failure says about memory, told from the texts of the JVM, JavaCPP and ND4J anywhere in its chain of causes. */
public enum Exhaustion {
    /** JavaCPP's cap on the resident size of the process, {@code maxphysicalbytes}. */
    PHYSICAL_CAP,
    /** JavaCPP's cap on what JavaCPP itself allocated, {@code maxbytes}; ND4J's arrays are no part of that. */
    JAVACPP_CAP,
    /** The operating system or driver refused. */
    NATIVE,
    /** The Java heap is full. */
    JAVA_HEAP,
    /** The failure is about something else. */
    NONE;

    private static final Pattern POINTER = Pattern.compile("Cannot allocate new (\\w+\\(\\d*\\))");
    private static final int MAX_CAUSES = 32;

    /** The most telling text of {@code failure} and its causes decides. */
    public static Exhaustion of(Throwable failure) {
        Exhaustion found = NONE;
        Throwable cause = failure;
        for (int i = 0; i < MAX_CAUSES && cause != null; i++) {
            Exhaustion told = told(cause);
            found = told.compareTo(found) < 0 ? told : found;
            cause = cause.getCause();
        }
        return found;
    }

    /** JavaCPP's name for what was asked for last, e.g. {@code LongPointer(1)}. */
    static Optional<String> request(Throwable failure) {
        Throwable cause = failure;
        for (int i = 0; i < MAX_CAUSES && cause != null; i++) {
            Matcher matcher = POINTER.matcher(text(cause));
            if (matcher.find()) {
                return Optional.of(matcher.group(1));
            }
            cause = cause.getCause();
        }
        return Optional.empty();
    }

    private static Exhaustion told(Throwable cause) {
        String text = text(cause).toLowerCase(Locale.ROOT);
        boolean error = cause instanceof OutOfMemoryError;
        if (error && text.contains("physical memory usage is too high")) {
            return PHYSICAL_CAP;
        }
        if (error && text.contains("failed to allocate memory within limits")) {
            return JAVACPP_CAP;
        }
        if (error && (text.contains("java heap space") || text.contains("gc overhead limit"))) {
            return JAVA_HEAP;
        }
        boolean refused = text.contains("bad_alloc")
                || text.contains("allocation failed")
                || text.contains("failed to allocate")
                || text.contains("cudaerrormemoryallocation");
        return error || refused ? NATIVE : NONE;
    }

    private static String text(@Nullable Throwable cause) {
        return cause == null || cause.getMessage() == null ? "" : cause.getMessage();
    }
}
