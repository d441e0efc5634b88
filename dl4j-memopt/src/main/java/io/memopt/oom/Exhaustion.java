// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a failure says about memory, told from the texts of the JVM, JavaCPP, ND4J, CUDA, cuDNN and cuBLAS anywhere in its chain
 * of causes. Only what these libraries say counts: a message of someone else that speaks of allocation is no exhaustion.
 */
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

    /** Words that nobody uses for anything else. */
    private static final Pattern CODES = Pattern.compile("\\bstd::bad_alloc\\b"
            + "|\\bcudaErrorMemoryAllocation\\b|\\bCUDA_ERROR_OUT_OF_MEMORY\\b"
            + "|\\b(CUDNN|CUBLAS|CUSOLVER|CUSPARSE)_STATUS_ALLOC_FAILED\\b");

    /** Sentences of ND4J and of our own pool; error code 2 of CUDA is {@code cudaErrorMemoryAllocation}. */
    private static final Pattern SENTENCES = Pattern.compile(
            "^Allocation failed: \\["
                    + "|^DataBuffer expansion failed: \\["
                    + "|\\[(HOST|DEVICE)\\] allocation failed"
                    + "|^Failed to allocate \\[?\\d+\\]? bytes"
                    + "|^Failed to allocate [^\\n]{1,80} from memory pool "
                    + "|; Bytes: \\[\\d+\\]; Error code \\[2\\]; DEVICE \\["
                    + "|\\bcuda\\w* (error|failed)[^\\n]*\\bout of memory\\b",
            Pattern.CASE_INSENSITIVE);

    /** {@link OutOfMemoryError}s for want of something else: threads, or an array that no heap could hold. */
    private static final Pattern OTHER_WANT =
            Pattern.compile("unable to create (new )?native thread|requested array size exceeds vm limit");

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
        String text = text(cause);
        if (cause instanceof OutOfMemoryError) {
            return ofError(text.toLowerCase(Locale.ROOT));
        }
        return CODES.matcher(text).find() || SENTENCES.matcher(text).find() ? NATIVE : NONE;
    }

    private static Exhaustion ofError(String text) {
        if (text.contains("physical memory usage is too high")) {
            return PHYSICAL_CAP;
        }
        if (text.contains("failed to allocate memory within limits")) {
            return JAVACPP_CAP;
        }
        if (text.contains("java heap space") || text.contains("gc overhead limit")) {
            return JAVA_HEAP;
        }
        return OTHER_WANT.matcher(text).find() ? NONE : NATIVE;
    }

    private static String text(@Nullable Throwable cause) {
        return cause == null || cause.getMessage() == null ? "" : cause.getMessage();
    }
}
