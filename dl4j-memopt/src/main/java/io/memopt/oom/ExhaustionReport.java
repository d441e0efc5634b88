// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import java.util.function.LongFunction;

/**
 * The explanation of a failure: which limit was met, who fills it, what to do. Names the holders of memory and not the
 * last request, which is usually small and innocent.
 */
public final class ExhaustionReport {
    private static final int SHOWN = 6;
    private static final long MIB = 1 << 20;

    private final Throwable failure;
    private final MemoryState state;
    private final LongFunction<String> size;

    private ExhaustionReport(Throwable failure, MemoryState state, LongFunction<String> size) {
        this.failure = failure;
        this.state = state;
        this.size = size;
    }

    /**
     * Several lines of text.
     *
     * @param size how to write a number of bytes
     */
    public static String render(Throwable failure, MemoryState state, LongFunction<String> size) {
        return new ExhaustionReport(failure, state, size).text();
    }

    private String text() {
        Exhaustion kind = Exhaustion.of(failure);
        if (kind == Exhaustion.NONE) {
            return "This failure is not about memory: " + failure;
        }
        return headline(kind) + "\n" + shares() + "\n" + holders() + innocent(kind) + "What to do: " + remedy(kind);
    }

    private String headline(Exhaustion kind) {
        return switch (kind) {
            case PHYSICAL_CAP ->
                "JavaCPP's physical cap "
                        + (state.physicalCapBytes().isPresent()
                                ? size.apply(state.physicalCapBytes().getAsLong()) + " "
                                : "")
                        + "(org.bytedeco.javacpp.maxphysicalbytes) is reached. It counts the whole process, Java heap included.";
            case JAVACPP_CAP ->
                "JavaCPP's own cap "
                        + (state.javacppCapBytes().isPresent()
                                ? size.apply(state.javacppCapBytes().getAsLong()) + " "
                                : "")
                        + "(org.bytedeco.javacpp.maxbytes) is reached.";
            case JAVA_HEAP ->
                "The Java heap is full"
                        + (state.heapMaxBytes().isPresent()
                                ? " (-Xmx " + size.apply(state.heapMaxBytes().getAsLong()) + ")"
                                : "")
                        + ". Arrays of ND4J lie outside of it.";
            case NATIVE, NONE -> "The operating system or driver refused native memory: " + failure;
        };
    }

    private String shares() {
        long known = state.tensorBytes() + state.workspaceBytes();
        String text = "Held now: " + size.apply(state.tensorBytes()) + " tensors, " + size.apply(state.workspaceBytes())
                + " workspaces";
        if (state.residentBytes().isEmpty()) {
            return text + ".";
        }
        long resident = state.residentBytes().getAsLong();
        return text + ", about " + size.apply(Math.max(0, resident - known))
                + " JVM and libraries (committed Java heap " + size.apply(state.heapCommittedBytes())
                + "); resident together " + size.apply(resident) + ".";
    }

    private String holders() {
        StringBuilder text = new StringBuilder();
        state.holders().stream()
                .limit(SHOWN)
                .forEach(holder -> text.append("  ")
                        .append(size.apply(holder.bytes()))
                        .append(" in ")
                        .append(holder.what())
                        .append('\n'));
        return text.toString();
    }

    private String innocent(Exhaustion kind) {
        if (kind != Exhaustion.PHYSICAL_CAP && kind != Exhaustion.JAVACPP_CAP) {
            return "";
        }
        return "The request that failed"
                + Exhaustion.request(failure).map(r -> ", " + r + ",").orElse("")
                + " is not the cause: it was only the next one.\n";
    }

    private String remedy(Exhaustion kind) {
        return switch (kind) {
            case PHYSICAL_CAP ->
                "close() arrays that are done with, use a smaller batch, lower -Xmx, or raise the cap:"
                        + " -Dorg.bytedeco.javacpp.maxphysicalbytes=" + recommendedCap() + "m (0 switches it off)"
                        + roomAt(recommendedCap() * MIB) + ".";
            case JAVACPP_CAP -> "raise -Dorg.bytedeco.javacpp.maxbytes; it does not bound ND4J's arrays.";
            case JAVA_HEAP -> "raise -Xmx, or keep less on the Java heap.";
            case NATIVE, NONE -> "close() arrays that are done with, or use a smaller batch.";
        };
    }

    /** What a cap leaves for arrays: all that JVM and libraries do not take now. */
    private String roomAt(long capBytes) {
        if (state.residentBytes().isEmpty()) {
            return "";
        }
        long known = state.tensorBytes() + state.workspaceBytes();
        long others = Math.max(0, state.residentBytes().getAsLong() - known);
        return ", which has room for " + size.apply(Math.max(0, capBytes - others)) + " of arrays and workspaces, now "
                + size.apply(known) + ", while the Java heap stays as small as it is";
    }

    /** Room for the largest heap, what is held off-heap, and a quarter more. */
    private long recommendedCap() {
        long need =
                state.heapMaxBytes().orElse(state.heapCommittedBytes()) + state.tensorBytes() + state.workspaceBytes();
        return (need + need / 4 + MIB - 1) / MIB;
    }
}
