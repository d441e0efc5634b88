// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.lang.StackWalker.StackFrame;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Says which code asked for a detached array: the Deeplearning4j method nearest to the array and the first caller outside
 * ND4J and Deeplearning4j. Walking a stack takes about 17 us, so only large arrays are looked at, and of each owner the
 * first {@value #ALWAYS} and then every {@value #SOMETIMES}th; in between the last answer for this owner is repeated.
 */
public final class AllocationSites {
    /** Smaller arrays are not worth a walk: a thousand of them are 64 MB, and they share owners with larger ones. */
    static final long MINIMUM_BYTES = 64 * 1024;

    private static final int ALWAYS = 4;
    private static final int SOMETIMES = 256;
    private static final int MAX_FRAMES = 64;

    private final AtomicIntegerArray seen;
    private final AtomicReferenceArray<@Nullable String> last;

    AllocationSites(int owners) {
        seen = new AtomicIntegerArray(owners);
        last = new AtomicReferenceArray<>(owners);
    }

    /** Whether an array of {@code bytes} is large enough to be looked at. */
    static boolean isLooked(long bytes) {
        return bytes >= MINIMUM_BYTES;
    }

    /** The site of an allocation that the current thread makes; null when it is small. */
    @Nullable
    String siteFor(int owner, long bytes) {
        if (!isLooked(bytes)) {
            return null;
        }
        int count = seen.getAndIncrement(owner) & Integer.MAX_VALUE; // wraps to 0, not to "never seen"
        if (count >= ALWAYS && (count & SOMETIMES - 1) != 0) {
            return last.get(owner);
        }
        String site = here();
        last.set(owner, site);
        return site;
    }

    /** The site of what the current thread does; {@code ""} when only library code is on its stack. About 17 us. */
    public static String here() {
        return StackWalker.getInstance().walk(stack -> describe(stack.limit(MAX_FRAMES)));
    }

    /** "innermost library method in outermost library method from first foreign caller", or that caller alone. */
    private static String describe(Stream<StackFrame> frames) {
        StackFrame inner = null;
        StackFrame outer = null;
        StackFrame caller = null;
        for (Iterator<StackFrame> it = frames.iterator(); caller == null && it.hasNext(); ) {
            StackFrame frame = it.next();
            String type = frame.getClassName();
            if (type.startsWith("org.deeplearning4j.")) {
                inner = inner == null ? frame : inner;
                outer = frame;
            } else if (!isPlumbing(type)) {
                caller = frame;
            }
        }
        List<String> parts = new ArrayList<>();
        if (inner != null) {
            parts.add(describe(inner));
        }
        if (outer != null && outer != inner) {
            parts.add("in " + describe(outer));
        }
        if (caller != null) {
            parts.add((inner == null ? "" : "from ") + describe(caller));
        }
        return String.join(" ", parts);
    }

    private static boolean isPlumbing(String type) {
        return type.startsWith("org.nd4j.")
                || type.startsWith("io.memopt.allocator.")
                || type.startsWith("org.bytedeco.")
                || type.startsWith("java.")
                || type.startsWith("jdk.");
    }

    private static String describe(StackFrame frame) {
        String type = frame.getClassName();
        return type.substring(type.lastIndexOf('.') + 1) + "." + frame.getMethodName() + ":" + frame.getLineNumber();
    }
}
