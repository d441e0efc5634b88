// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.nd4j.ArenaOptions;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.analysis.Exactness;
import io.memopt.guard.GuardOptions;
import io.memopt.guard.OutOfMemory;
import io.memopt.strategy.DeviceMemory;
import io.memopt.strategy.HostMirrors;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.budget.BudgetOptions;
import io.memopt.strategy.budget.BudgetReport;
import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.strategy.offload.Offload;
import io.memopt.strategy.precision.Precision;
import io.memopt.strategy.step.StepOptions;
import java.nio.file.Path;
import java.time.Duration;
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
 * @param ownViews the updaters of networks that train use their own views, see {@link io.memopt.strategy.step.OwnViews}
 * @param reuse what is given back of the memory that a network does not need; of the process, and once begun it lasts as long as
 *     there are handles
 * @param deviceMemory where device memory comes from on CUDA; of the process, and once begun it lasts as long as there are handles
 * @param hostMirrors what the host memory beside CUDA workspaces is; likewise
 * @param deviceLimitBytes most bytes for the pool of each device, at least 64 MiB; only with {@link DeviceMemory#POOL}
 * @param planProfile file that keeps proved plans and sizes across runs, if any; only with {@link Reuse#SIZED} or {@link
 *     Reuse#PLANNED}
 * @param arenas when arenas give bytes back: after passes that do not need them, and of threads that are idle; of the process,
 *     the first handle that begins reuse decides
 * @param planPoison a diagnostic: makes bytes of dead arrays no number, so that a use after their planned end is seen; only
 *     with {@link Reuse#PLANNED}; the first handle with plans decides
 * @param convolutions how convolutions and batch normalisations are computed; other than {@link Convolutions#BUILT_IN} sums in
 *     another order, so that results differ in their last digits. Of the process: the first handle that asks for cuDNN decides
 * @param step how gradients are computed: in parts, gathered, with fewer activations; of each network
 * @param guard what is done when memory runs out; the mode is of each network, directory and limit are of the process
 * @param budget bytes that training may take at most; decides about {@code reuse} and {@code step} itself
 */
public record MemOptConfig(
        boolean enabled,
        Optional<Path> trace,
        long traceMaxBytes,
        int history,
        boolean nativeTemporaries,
        boolean recordUses,
        boolean scopeCheck,
        boolean ownViews,
        Reuse reuse,
        DeviceMemory deviceMemory,
        HostMirrors hostMirrors,
        long deviceLimitBytes,
        Optional<Path> planProfile,
        ArenaOptions arenas,
        boolean planPoison,
        Convolutions convolutions,
        StepOptions step,
        GuardOptions guard,
        BudgetOptions budget) {
    /** 4 GiB, about 300 million events. */
    public static final long DEFAULT_TRACE_MAX_BYTES = 4L << 30;

    /** 4 MiB, some hundred iterations of a small network. */
    public static final int DEFAULT_HISTORY = 1 << 16;

    private static final int MAX_HISTORY = 1 << 23;
    private static final long MIB = 1 << 20;
    private static final long MIN_DEVICE_LIMIT = 64 * MIB;
    private static final long NO_LIMIT = Long.MAX_VALUE;

    public MemOptConfig {
        Objects.requireNonNull(trace, "trace");
        Objects.requireNonNull(reuse, "reuse");
        Objects.requireNonNull(planProfile, "planProfile");
        Objects.requireNonNull(convolutions, "convolutions");
        Objects.requireNonNull(arenas, "arenas");
        Objects.requireNonNull(step, "step");
        Objects.requireNonNull(guard, "guard");
        if (guard.limitBytes() != GuardOptions.NO_LIMIT && deviceMemory == DeviceMemory.POOL) {
            throw new IllegalArgumentException("limitBytes=" + guard.limitBytes()
                    + " but deviceMemory=POOL, expected PLAIN: a pool is limited by deviceLimitBytes");
        }
        Objects.requireNonNull(budget, "budget");
        boolean hasArenas = budget.isSet() || reuse.compareTo(Reuse.SIZED) >= 0;
        if (budget.isSet() && reuse != Reuse.OFF) {
            throw new IllegalArgumentException("budget=" + budget + " and reuse=" + reuse
                    + ", expected one of them: the budget chooses what is reused");
        }
        if (budget.isSet() && !step.leavesPasses()) {
            throw new IllegalArgumentException("budget=" + budget + " and " + step
                    + ", expected neither microBatch nor activationShare: the budget chooses both");
        }
        if (!budget.isSet() && !budget.equals(BudgetOptions.NONE)) {
            throw new IllegalArgumentException("exactness=" + budget.exactness() + " and budgetProfile="
                    + budget.profile().map(Path::toString).orElse("none")
                    + " but no budget: there is nothing to choose");
        }
        if (planProfile.isPresent() && !hasArenas) {
            throw new IllegalArgumentException("planProfile=" + planProfile.get() + " but reuse=" + reuse
                    + ", expected SIZED or PLANNED: without arenas there is nothing to keep");
        }
        if (!arenas.equals(ArenaOptions.DEFAULTS) && !hasArenas) {
            throw new IllegalArgumentException("trimAfter=" + arenas.trimAfter() + " and releaseIdleAfter="
                    + arenas.releaseIdleAfter() + " but reuse=" + reuse
                    + ", expected SIZED or PLANNED: without arenas there is nothing to give back");
        }
        if (planPoison && reuse != Reuse.PLANNED && !budget.isSet()) {
            throw new IllegalArgumentException("planPoison=true but reuse=" + reuse
                    + ", expected PLANNED: without plans no array has a planned end");
        }
        Objects.requireNonNull(deviceMemory, "deviceMemory");
        Objects.requireNonNull(hostMirrors, "hostMirrors");
        if (deviceLimitBytes != NO_LIMIT && deviceMemory != DeviceMemory.POOL) {
            throw new IllegalArgumentException("deviceLimitBytes=" + deviceLimitBytes + " but deviceMemory="
                    + deviceMemory + ", expected POOL: without a pool there is nothing to limit");
        }
        if (deviceLimitBytes < MIN_DEVICE_LIMIT) {
            throw new IllegalArgumentException(
                    "deviceLimitBytes=" + deviceLimitBytes + ", expected at least " + MIN_DEVICE_LIMIT);
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
        private boolean ownViews;
        private Reuse reuse = Reuse.OFF;
        private DeviceMemory deviceMemory = DeviceMemory.PLAIN;
        private HostMirrors hostMirrors = HostMirrors.PINNED;
        private long deviceLimitBytes = NO_LIMIT;
        private Optional<Path> planProfile = Optional.empty();
        private ArenaOptions arenas = ArenaOptions.DEFAULTS;
        private boolean planPoison;
        private Convolutions convolutions = Convolutions.BUILT_IN;
        private StepOptions step = StepOptions.PLAIN;
        private GuardOptions guard = GuardOptions.DEFAULTS;
        private BudgetOptions budget = BudgetOptions.NONE;

        private Builder() {}

        /** Default true. */
        public Builder enabled(boolean value) {
            enabled = value;
            return this;
        }

        /** Writes every event to {@code file}; default none. */
        public Builder trace(Path file) {
            trace = Optional.of(Objects.requireNonNull(file, "trace"));
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

        /**
         * Whether updaters use the views of parameters and gradients that they made when they were created, instead of new ones in
         * each step: fewer native calls, the same bits; see {@link io.memopt.strategy.step.OwnViews}. Begins after a network's first
         * iteration.
         */
        public Builder ownViews(boolean value) {
            ownViews = value;
            return this;
        }

        /** Default {@link DeviceMemory#PLAIN}. */
        public Builder deviceMemory(DeviceMemory value) {
            deviceMemory = value;
            return this;
        }

        /** Default {@link HostMirrors#PINNED}. */
        public Builder hostMirrors(HostMirrors value) {
            hostMirrors = value;
            return this;
        }

        /** Default no limit: as much as the device has. */
        public Builder deviceLimitBytes(long value) {
            deviceLimitBytes = value;
            return this;
        }

        /** Default {@link Reuse#OFF}. */
        public Builder reuse(Reuse value) {
            reuse = value;
            return this;
        }

        /**
         * Keeps proved plans and sizes in {@code file} across runs, so that the first minibatch runs in the arena already;
         * default none.
         */
        public Builder planProfile(Path file) {
            planProfile = Optional.of(Objects.requireNonNull(file, "planProfile"));
            return this;
        }

        /** Default {@link Convolutions#BUILT_IN}. On a backend without cuDNN a warning says so, and nothing changes. */
        public Builder convolutions(Convolutions value) {
            convolutions = value;
            return this;
        }

        /**
         * Most examples whose activations exist at once; default all of a minibatch. Larger minibatches are computed in parts of
         * nearly equal size, gradients are summed, and one update follows. Sums come out in another order, so that results differ in
         * their last digits; dropout draws other masks.
         *
         * @throws IllegalArgumentException if below 1
         */
        public Builder microBatch(int examples) {
            step = step.withMicroBatch(examples);
            return this;
        }

        /**
         * Minibatches whose gradients are summed for one update, which is one iteration then; default 1. Groups go on from one call
         * of {@code fit} to the next.
         *
         * @throws IllegalArgumentException if not in 1..{@value StepOptions#MAX_ACCUMULATE}
         */
        public Builder accumulate(int minibatches) {
            step = step.withAccumulate(minibatches);
            return this;
        }

        /**
         * Most bytes of activations that a network keeps for its backward pass, as share of all; default 1, 0 for as few as
         * possible. The others are computed again, with the same results bit for bit.
         *
         * @throws IllegalArgumentException if not in 0..1
         */
        public Builder activationShare(double share) {
            step = step.withActivationShare(share);
            return this;
        }

        /**
         * In which type of numbers gradients are computed; default {@link Precision#AS_CONFIGURED}. {@link Precision#MIXED_HALF}
         * changes results.
         */
        public Builder precision(Precision value) {
            step = step.withPrecision(value);
            return this;
        }

        /** As {@link #offloadUpdaterState(Offload)} in mapped files in {@code folder}, a directory that exists. CPU only. */
        public Builder offloadUpdaterState(Path folder) {
            return offloadUpdaterState(Offload.files(folder));
        }

        /**
         * Keeps the updater's state elsewhere while it is not used; default where arrays lie. With a CPU backend that is a mapped file,
         * whose pages need no memory when that is short; it has no name and is gone with the process. With CUDA it is {@link Offload#HOST},
         * from where it comes for the update part by part. Beside a {@link #budget(String)} it is used if nothing that is as fast fits
         * without.
         */
        public Builder offloadUpdaterState(Offload where) {
            step = step.withStateOffload(where);
            return this;
        }

        /** As {@link #offloadCheckpoints(Offload)} in mapped files in {@code folder}, a directory that exists. CPU only. */
        public Builder offloadCheckpoints(Path folder) {
            return offloadCheckpoints(Offload.files(folder));
        }

        /**
         * Keeps the outputs that checkpointing keeps elsewhere while no segment needs them, in mapped files with a CPU backend, {@link
         * Offload#HOST} with CUDA, from where each comes back one segment ahead; default where arrays lie. Needs an {@link
         * #activationShare} below 1, or a {@link #budget(String)}, which uses it if nothing that is as fast fits without.
         */
        public Builder offloadCheckpoints(Offload where) {
            step = step.withOutputOffload(where);
            return this;
        }

        /** Default {@link OutOfMemory#REPORT}: nothing stands in the training step. */
        public Builder outOfMemory(OutOfMemory mode) {
            guard = new GuardOptions(mode, guard.reports(), guard.limitBytes());
            return this;
        }

        /** Where post-mortems are written, at most {@value io.memopt.guard.ReportFiles#MOST} of one process; default {@code memopt-oom}. */
        public Builder postMortems(Path directory) {
            guard = new GuardOptions(guard.mode(), directory, guard.limitBytes());
            return this;
        }

        /**
         * Most bytes that ND4J may hold where its arrays lie, workspaces, spills and arrays outside of workspaces together; default
         * no limit. A request beyond fails as if the system refused. Temporaries inside native operations and the Java heap do not
         * count. Not together with {@link DeviceMemory#POOL}, which has {@link #deviceLimitBytes}.
         *
         * @throws IllegalArgumentException if below 1 MiB
         */
        public Builder limitBytes(long value) {
            guard = new GuardOptions(guard.mode(), guard.reports(), value);
            return this;
        }

        /**
         * Most bytes that training may take, e.g. {@code "6 GiB"}; see {@link BudgetReport} for what counts. How workspaces are reused,
         * how activations are kept, whether minibatches are computed in parts, and whether a cache mode stays is chosen for the least
         * time, within {@link #exactness}; so is the use of {@link #offloadUpdaterState} and {@link #offloadCheckpoints}, where they are
         * given. A {@link #precision} that is given is kept to. Default none.
         *
         * @throws IllegalArgumentException if it is no size, or 0
         */
        public Builder budget(String size) {
            long bytes = ByteSize.parse(Objects.requireNonNull(size, "budget"));
            if (bytes < 1) {
                throw new IllegalArgumentException(
                        "budget=\"" + size + "\" is " + bytes
                                + " B, expected at least 1, e.g. \"6 GiB\"; a share of what is free is a number, e.g. budget(0.8)");
            }
            budget = budget.withBytes(bytes);
            return this;
        }

        /**
         * As {@link #budget(String)}: a share of what is free when it is decided, what the network holds already included.
         *
         * @throws IllegalArgumentException if not above 0 and at most 1
         */
        public Builder budget(double shareOfFree) {
            budget = budget.withShare(shareOfFree);
            return this;
        }

        /**
         * Loosest class of exactness of what the budget may choose; default {@link Exactness#BITWISE}. With {@link
         * Exactness#REORDERED} minibatches may be computed in parts, with {@link Exactness#LOSSY} also in mixed precision. Relative to the
         * network with the algorithms that cuDNN takes, where that computes its convolutions: a budget that leaves it less scratch memory may
         * have it sum in another order in any class.
         */
        public Builder exactness(Exactness loosest) {
            budget = budget.withExactness(loosest);
            return this;
        }

        /** Keeps what was chosen for the budget in {@code file}, so that later runs choose the same at once; default none. */
        public Builder budgetProfile(Path file) {
            budget = budget.withProfile(file);
            return this;
        }

        /**
         * Passes in a row that need less than three quarters of their thread's arena before it shrinks; default {@value
         * ArenaOptions#DEFAULT_TRIM_AFTER}, at least 1. With inference every layer is a pass.
         */
        public Builder trimAfter(int passes) {
            arenas = new ArenaOptions(passes, arenas.releaseIdleAfter());
            return this;
        }

        /**
         * Gives back the arenas of threads that have used no network for so long, until they do again; default zero, which is
         * never. Arrays of a pass that is over must not be read then, which was never valid.
         */
        public Builder releaseIdleAfter(Duration time) {
            arenas = new ArenaOptions(arenas.trimAfter(), time);
            return this;
        }

        /**
         * Default false: a diagnostic that goes over every planned byte twice more in each pass. The bytes of an array are
         * filled with ones, which is no number in any floating-point type, at its planned end and when the pass is over. A
         * plan under which anything reads them gives other results and is refused; one under which anything writes them is
         * made anew. Plans from {@link #planProfile}, and those that follow from others, are proved again. A wrong plan may
         * end the process when whole numbers are read as indices.
         */
        public Builder planPoison(boolean value) {
            planPoison = value;
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
                    ownViews,
                    reuse,
                    deviceMemory,
                    hostMirrors,
                    deviceLimitBytes,
                    planProfile,
                    arenas,
                    planPoison,
                    convolutions,
                    step,
                    guard,
                    budget);
        }
    }
}
