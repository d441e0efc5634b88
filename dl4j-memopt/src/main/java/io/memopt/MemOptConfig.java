// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.Convolutions;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;

/**
 * What {@link MemOpt} does. Immutable; {@link #builder()} makes others. Values out of range are refused at once.
 *
 * @param enabled false makes attach do nothing at all
 * @param trace file that every event is written to, if any
 * @param traceMaxBytes size at which writing the trace stops, at least 1 MiB
 * @param history number of latest events kept in memory at least, 0 for none; 64 bytes each, at most 8 Mi; one history
 *     serves the process, the first handle decides
 * @param nativeTemporaries measures what operations allocate inside the native library, at half a millisecond each
 * @param recordUses records when each array was last used; costs nothing when false
 * @param scopeCheck reports arrays that are used after their scope; includes {@code recordUses}, slows training down
 * @param reuse what is given back of the memory that a network does not need; of the process, and once begun it lasts as long as
 *     there are handles
 * @param planProfile file that keeps proved plans across runs, if any; only with {@link Reuse#PLANNED}
 * @param convolutions how convolutions and batch normalisations are computed; other than {@link Convolutions#BUILT_IN} sums in
 *     another order, so that results differ in their last digits. Of the process: the first handle that asks for cuDNN decides
 */
public record MemOptConfig(
        boolean enabled,
        Optional<Path> trace,
        long traceMaxBytes,
        int history,
        boolean nativeTemporaries,
        boolean recordUses,
        boolean scopeCheck,
        Reuse reuse,
        Optional<Path> planProfile,
        Convolutions convolutions) {
    /** 4 GiB, about 300 million events. */
    public static final long DEFAULT_TRACE_MAX_BYTES = 4L << 30;

    /** 4 MiB, some hundred iterations of a small network. */
    public static final int DEFAULT_HISTORY = 1 << 16;

    private static final int MAX_HISTORY = 1 << 23;
    private static final long MIB = 1 << 20;

    public MemOptConfig {
        Objects.requireNonNull(trace, "trace");
        Objects.requireNonNull(reuse, "reuse");
        Objects.requireNonNull(planProfile, "planProfile");
        Objects.requireNonNull(convolutions, "convolutions");
        if (planProfile.isPresent() && reuse != Reuse.PLANNED) {
            throw new IllegalArgumentException("planProfile=" + planProfile.get() + " but reuse=" + reuse
                    + ", expected PLANNED: without plans there is nothing to keep");
        }
        if (traceMaxBytes < MIB) {
            throw new IllegalArgumentException("traceMaxBytes=" + traceMaxBytes + ", expected at least " + MIB);
        }
        if (history < 0 || history > MAX_HISTORY) {
            throw new IllegalArgumentException("history=" + history + ", expected 0.." + MAX_HISTORY);
        }
    }

    /** Observe, write no trace. */
    public static MemOptConfig defaults() {
        return builder().build();
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Collects settings; every method returns the builder itself. */
    public static final class Builder {
        private boolean enabled = true;
        private Optional<Path> trace = Optional.empty();
        private long traceMaxBytes = DEFAULT_TRACE_MAX_BYTES;
        private int history = DEFAULT_HISTORY;
        private boolean nativeTemporaries;
        private boolean recordUses;
        private boolean scopeCheck;
        private Reuse reuse = Reuse.OFF;
        private Optional<Path> planProfile = Optional.empty();
        private Convolutions convolutions = Convolutions.BUILT_IN;

        private Builder() {}

        /** Default true. */
        public Builder enabled(boolean value) {
            enabled = value;
            return this;
        }

        /** Writes every event to {@code file}; default none. */
        public Builder trace(Path file) {
            trace = Optional.of(file);
            return this;
        }

        /** Default {@value MemOptConfig#DEFAULT_TRACE_MAX_BYTES}. */
        public Builder traceMaxBytes(long value) {
            traceMaxBytes = value;
            return this;
        }

        /** Default {@value MemOptConfig#DEFAULT_HISTORY}. */
        public Builder history(int events) {
            history = events;
            return this;
        }

        /** Default false: a diagnostic that slows training down. Linux only. */
        public Builder nativeTemporaries(boolean value) {
            nativeTemporaries = value;
            return this;
        }

        /** Default false. With a trace, its analysis says what workspaces need at least, and what is held for nothing. */
        public Builder recordUses(boolean value) {
            recordUses = value;
            return this;
        }

        /** Default false: a diagnostic that slows training down. Single elements are checked on CPU only. */
        public Builder scopeCheck(boolean value) {
            scopeCheck = value;
            return this;
        }

        /** Default {@link Reuse#OFF}. */
        public Builder reuse(Reuse value) {
            reuse = value;
            return this;
        }

        /** Keeps proved plans in {@code file} across runs, so that the first minibatch is planned already; default none. */
        public Builder planProfile(Path file) {
            planProfile = Optional.of(file);
            return this;
        }

        /** Default {@link Convolutions#BUILT_IN}. On a backend without cuDNN a warning says so, and nothing changes. */
        public Builder convolutions(Convolutions value) {
            convolutions = value;
            return this;
        }

        /**
         * The settings.
         *
         * @throws IllegalArgumentException if one is out of range
         */
        public MemOptConfig build() {
            return new MemOptConfig(
                    enabled,
                    trace,
                    traceMaxBytes,
                    history,
                    nativeTemporaries,
                    recordUses || scopeCheck,
                    scopeCheck,
                    reuse,
                    planProfile,
                    convolutions);
        }
    }
}
