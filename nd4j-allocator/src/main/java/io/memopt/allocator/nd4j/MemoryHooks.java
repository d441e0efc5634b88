// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.pool.MemoryPool;
import io.memopt.allocator.use.UseBook;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.MemoryWorkspaceManager;
import org.nd4j.linalg.api.memory.provider.BasicWorkspaceManager;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts the hooks into ND4J and takes them out again. Two ways in: <em>early</em>, when {@link DecoyBackend} on the class
 * path made ND4J start with our workspace manager, and <em>late</em>, when {@link #install()} is called on a running ND4J.
 * Both give the same; the late way does not know arrays that exist already until someone adopts them.
 *
 * <p>A failure leaves ND4J as it was and is reported once. Threading: all methods may be called from any thread.
 */
public final class MemoryHooks {
    private static final Logger log = LoggerFactory.getLogger(MemoryHooks.class);
    private static final String CPU_MANAGER = "org.nd4j.linalg.cpu.nativecpu.workspace.CpuWorkspaceManager";
    private static final String CUDA_MANAGER = "org.nd4j.jita.workspace.CudaWorkspaceManager";

    /** What was warned of in this JVM; a second attach need not hear it again. */
    private static final Set<String> warned = new HashSet<>();

    private static volatile @Nullable NativeTemporaries temporaries;
    private static volatile @Nullable Recording current;
    private static @Nullable NativeOps originalOps;
    private static @Nullable NativeOps interposer;
    private static @Nullable MemoryWorkspaceManager originalManager;
    private static boolean usesWanted;
    private static int usesBorrowed;
    /** In front of ND4J's own calls while memory is served, or was served and is still in use; else null. */
    private static volatile @Nullable ServingOps layer;
    /** In front of ND4J's own calls while a limit holds; else null. Never together with {@link #layer}. */
    private static @Nullable LimitingOps limiting;

    private MemoryHooks() {}

    /** True while native calls are recorded. */
    public static synchronized boolean installed() {
        return interposer != null;
    }

    /** What is being recorded; begins a recording if there is none. */
    public static Recording recording() {
        Recording known = current;
        return known != null ? known : begin();
    }

    static boolean isCurrent(Recording recording) {
        return current == recording;
    }

    private static synchronized Recording begin() {
        Recording known = current;
        if (known == null) {
            known = new Recording();
            current = known;
        }
        return known;
    }

    /**
     * Makes sure that the hooks are in place; does nothing when they are. Starts ND4J if it has not been.
     *
     * @throws HookException if native calls cannot be interposed; ND4J is then as it was before
     */
    public static synchronized Recording install() {
        MemoryWorkspaceManager manager = Nd4j.getWorkspaceManager();
        warnIfUntested();
        interpose();
        replaceManager(manager);
        return recording();
    }

    /** Begins to measure what custom operations allocate natively; see {@link NativeTemporaries} for what that costs. */
    public static synchronized NativeTemporaries measureTemporaries() {
        NativeTemporaries known = temporaries;
        if (known == null) {
            known = new NativeTemporaries();
            temporaries = known;
            refresh();
        }
        return known;
    }

    /** Puts another interposer in the place of the one there is, for calls are routed when it is made. */
    private static void refresh() {
        NativeOps base = originalOps;
        try {
            if (base != null) {
                rebase(base);
            }
        } catch (ReflectiveOperationException e) {
            log.warn("What operations allocate natively is not measured: {}", e.toString());
        }
    }

    /** Ends what {@link #measureTemporaries} began. */
    public static synchronized void stopMeasuringTemporaries() {
        if (temporaries != null) {
            temporaries = null;
            refresh();
        }
    }

    /** The running measurement, if any. */
    public static @Nullable NativeTemporaries temporaries() {
        return temporaries;
    }

    /**
     * Begins to record when arrays are used, if that has not begun. Until then it costs nothing.
     *
     * @throws HookException if hooks are not installed, or native calls cannot be interposed that way; what is recorded
     *     otherwise goes on
     */
    public static synchronized UseBook recordUses() {
        UseBook book = beginUses();
        usesWanted = true;
        return book;
    }

    /**
     * As {@link #recordUses()} for a while: ends with {@link #returnUses}, unless {@link #recordUses()} or another thread
     * needs it on.
     */
    public static synchronized UseBook borrowUses() {
        UseBook book = beginUses();
        usesBorrowed++;
        return book;
    }

    /** Ends what {@link #borrowUses} began; does nothing when {@code book} has ended. */
    public static synchronized void returnUses(UseBook book) {
        if (recording().uses() == book) {
            usesBorrowed--;
            endUsesIfUnneeded();
        }
    }

    private static UseBook beginUses() {
        UseBook known = recording().uses();
        NativeOps ours = interposer;
        NativeOps original = originalOps;
        if (known != null) {
            return known;
        }
        if (ours == null || original == null) {
            throw new HookException("Uses of arrays cannot be recorded: no hooks are installed. Call install() first.");
        }
        UseBook book = new UseBook(recording().ledger());
        try {
            NativeOps telling =
                    InterposerFactory.interpose(original, recording().ledger(), isCuda(original), book);
            recording().uses(book);
            exchange(ours, telling);
            interposer = telling;
            GuardedBuffers.install(book);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            recording().uses(null);
            throw new HookException("Uses of arrays cannot be recorded with ND4J " + Nd4jFacts.version() + ": " + e, e);
        }
        return book;
    }

    /**
     * From now on {@code policy} decides where the arrays of networks' workspaces lie. One policy serves the process; a
     * later one takes the place of an earlier one.
     *
     * @throws HookException if workspaces are not recorded, because of a manager that is not ND4J's own
     */
    public static WorkspaceReuse reuse(RegionPolicy policy) {
        return reuse(policy, ArenaOptions.DEFAULTS);
    }

    /** As {@link #reuse(RegionPolicy)}; {@code options} say when arenas give bytes back. */
    public static synchronized WorkspaceReuse reuse(RegionPolicy policy, ArenaOptions options) {
        String manager = Nd4j.getWorkspaceManager().getClass().getName();
        if (!isOurs(manager)) {
            throw new HookException("Workspaces cannot be planned: workspace manager " + manager
                    + " is not ND4J's own. Remove the system property 'workspacemanager'.");
        }
        stopReuse();
        WorkspaceReuse reuse = new WorkspaceReuse(recording(), policy, options);
        recording().reuse(reuse);
        return reuse;
    }

    /**
     * Address, a multiple of 256, of {@code bytes} of the calling thread's planned arena that no array has until the thread asks for its next one, for
     * scratch memory of what is computed before; 0 when there are none, -1 when no plan is being served. On CUDA for the thread's own
     * stream.
     */
    public static long spareBytes(long bytes) {
        WorkspaceReuse reuse = recording().reuse();
        return reuse == null ? -1 : reuse.arena().spare(bytes);
    }

    /**
     * ND4J serves all workspaces again. Arenas are given back: now, or at the end of the pass that they serve.
     */
    public static synchronized void stopReuse() {
        WorkspaceReuse reuse = recording().reuse();
        if (reuse != null) {
            recording().reuse(null);
            reuse.release();
        }
    }

    /**
     * From now on ND4J's memory comes from elsewhere, as far as it asks for new; what it has stays where it is.
     *
     * @param device opens the pool of a device by its number, for workspace blocks, spills and arrays outside workspaces;
     *     null leaves these to ND4J
     * @param pinned opens the pool of page-locked memory that belongs to a device; null leaves it to ND4J
     * @param mirrors whether host mirrors of workspaces become pageable memory
     * @throws HookException if no hooks are installed, or native calls cannot be interposed that way
     */
    public static synchronized ServedMemory serve(
            @Nullable IntFunction<MemoryPool> device, @Nullable IntFunction<MemoryPool> pinned, boolean mirrors) {
        NativeOps original = originalOps;
        if (interposer == null || original == null) {
            throw new HookException("Memory cannot be served: no hooks are installed. Call install() first.");
        }
        if (limiting != null) {
            throw new HookException("Memory cannot be served while a limit of "
                    + limiting.limit().limitBytes() + " B holds: limit the pool instead.");
        }
        ServingOps serving = layer;
        try {
            if (serving == null) {
                serving = InterposerFactory.serve(original, new ServedMemory(), isCuda(original));
                layer = serving;
                rebase(serving);
            }
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            layer = null;
            throw new HookException("Memory cannot be served to ND4J " + Nd4jFacts.version() + ": " + e, e);
        }
        serving.memory().end();
        serving.memory().begin(device, pinned, mirrors);
        return serving.memory();
    }

    /**
     * ND4J gets new memory from where it always did. Memory that was served and is in use stays valid, and its frees go
     * where they belong, also after {@link #uninstall()}.
     */
    public static synchronized void stopServing() {
        ServingOps serving = layer;
        if (serving != null) {
            serving.memory().end();
            removeIdleLayer();
        }
    }

    /**
     * From now on ND4J holds at most {@code limitBytes} where its arrays lie, what it holds already included; a request beyond fails
     * as if the system refused. Without a limit nothing of this is in ND4J's native calls. One limit at a time: a second call changes
     * the first.
     *
     * @param limitBytes at least 1; {@link AllocationLimit#NONE} to count only
     * @throws HookException if no hooks are installed, memory is served already, or native calls cannot be limited
     */
    public static synchronized AllocationLimit limit(long limitBytes) {
        LimitingOps known = limiting;
        if (known != null) {
            known.limit().limit(limitBytes);
            return known.limit();
        }
        NativeOps original = originalOps;
        if (interposer == null || original == null) {
            throw new HookException("Memory cannot be limited: no hooks are installed. Call install() first.");
        }
        ServingOps serving = layer;
        if (serving != null && serving.memory().isServing()) {
            throw new HookException("Memory cannot be limited while it is served: limit the pool instead.");
        }
        try {
            boolean cuda = isCuda(original);
            AllocationLimit limit = new AllocationLimit(limitBytes, cuda ? MemorySpace.DEVICE : MemorySpace.HOST);
            LimitingOps fresh = InterposerFactory.limit(original, limit, cuda);
            rebase(fresh);
            limiting = fresh;
            limit.adopt(recording().ledger());
            return limit;
        } catch (ReflectiveOperationException | LinkageError e) {
            throw new HookException("Memory cannot be limited with ND4J " + Nd4jFacts.version() + ": " + e, e);
        }
    }

    /** The limit that holds now, if any. */
    public static synchronized Optional<AllocationLimit> currentLimit() {
        LimitingOps known = limiting;
        return known == null ? Optional.empty() : Optional.of(known.limit());
    }

    /** Ends {@code limit}; does nothing when another or none holds. */
    static synchronized void endLimit(AllocationLimit limit) {
        LimitingOps known = limiting;
        if (known == null || known.limit() != limit) {
            return;
        }
        try {
            rebase(known.target());
            limiting = null;
            removeIdleLayer();
        } catch (ReflectiveOperationException e) {
            limit.limit(AllocationLimit.NONE);
            log.warn("A layer that limits memory no more stays in ND4J's native calls: {}", e.toString());
        }
    }

    /** What is served keeps no more than is in use; does nothing when nothing is served. */
    static void trimServed() {
        ServingOps serving = layer;
        if (serving != null) {
            serving.memory().trim();
        }
    }

    /** Takes the layer out once nothing of what it served is in use, and no limit lies on top of it. */
    static synchronized void removeIdleLayer() {
        ServingOps idle = layer;
        if (idle == null || limiting != null || !idle.memory().isOver()) {
            return;
        }
        layer = null;
        if (interposer == null) {
            exchange(idle, idle.target());
            return;
        }
        try {
            rebase(idle.target());
        } catch (ReflectiveOperationException e) {
            layer = idle;
            log.warn("A layer that serves no memory any more stays in ND4J's native calls: {}", e.toString());
        }
    }

    /** Puts the recording in front of {@code base} in the place of what it stood before. */
    private static void rebase(NativeOps base) throws ReflectiveOperationException {
        NativeOps before = interposer;
        if (before == null) {
            return;
        }
        UseBook book = recording().uses();
        NativeOps ours = book == null
                ? InterposerFactory.interpose(base, recording().ledger(), isCuda(base))
                : InterposerFactory.interpose(base, recording().ledger(), isCuda(base), book);
        exchange(before, ours);
        interposer = ours;
        originalOps = base;
    }

    /** Ends what {@link #recordUses()} began, when nobody has borrowed it; does nothing when it has not begun. */
    public static synchronized void stopRecordingUses() {
        usesWanted = false;
        endUsesIfUnneeded();
    }

    private static void endUsesIfUnneeded() {
        if (!usesWanted && usesBorrowed == 0) {
            endUses();
        }
    }

    private static void endUses() {
        NativeOps telling = interposer;
        NativeOps original = originalOps;
        UseBook book = recording().uses();
        if (book == null || telling == null || original == null) {
            return;
        }
        GuardedBuffers.uninstall();
        book.tellLive();
        recording().uses(null);
        try {
            NativeOps plain = InterposerFactory.interpose(original, recording().ledger(), isCuda(original));
            exchange(telling, plain);
            interposer = plain;
        } catch (ReflectiveOperationException e) {
            log.warn("Native calls go on to tell of uses, to nobody: {}", e.toString());
        }
    }

    /** Takes the hooks out. The recording ends; its figures can still be read. Does nothing when none are in place. */
    public static synchronized void uninstall() {
        if (interposer == null) {
            return;
        }
        usesWanted = false;
        usesBorrowed = 0;
        endUses();
        stopReuse();
        stopServing();
        currentLimit().ifPresent(AllocationLimit::close);
        restoreManager(); // destroys workspaces, which may be the last that memory was served to
        NativeOps ours = interposer;
        NativeOps original = originalOps;
        if (ours != null && original != null) {
            exchange(ours, original);
        }
        interposer = null;
        originalOps = null;
        recording().ledger().stopPostingInBackground();
        current = null;
    }

    /** A workspace manager of ours was made, by ND4J's start or by {@link #install()}. Never throws. */
    static synchronized void managerCreated() {
        try {
            interpose();
        } catch (HookException e) {
            log.warn("Memory is recorded by workspace only. {}", e.getMessage());
        }
    }

    private static void interpose() {
        if (interposer != null) {
            return;
        }
        try {
            NativeOps original = NativeOpsHolder.getInstance().getDeviceNativeOps();
            NativeOps ours = InterposerFactory.interpose(original, recording().ledger(), isCuda(original));
            setHolder(ours);
            originalOps = original;
            interposer = ours;
            recording().ledger().postInBackground();
            if (isStarted()) {
                CachedNativeOps.exchange(original, ours);
            }
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            throw new HookException(
                    "Native calls of ND4J " + Nd4jFacts.version() + " cannot be recorded: " + e + ". Tested versions: "
                            + Nd4jFacts.TESTED_VERSIONS + ".",
                    e);
        }
    }

    private static boolean isCuda(NativeOps ops) {
        return InterposerFactory.stock(ops).getClass().getSimpleName().contains("Cuda");
    }

    private static void exchange(NativeOps from, NativeOps to) {
        try {
            setHolder(to);
            CachedNativeOps.exchange(from, to);
        } catch (ReflectiveOperationException e) {
            log.warn("The recorder could not be removed from ND4J's native calls and stays: {}", e.toString());
        }
    }

    /** By reflection: the setter of M2.1 does not exist in M1.1, whose field is final. */
    private static void setHolder(NativeOps ops) throws ReflectiveOperationException {
        Field field = NativeOpsHolder.class.getDeclaredField("deviceNativeOps");
        field.setAccessible(true);
        field.set(NativeOpsHolder.getInstance(), ops);
    }

    private static void replaceManager(MemoryWorkspaceManager manager) {
        String type = manager.getClass().getName();
        if (isOurs(type)) {
            return;
        }
        if (!type.equals(CPU_MANAGER) && !type.equals(CUDA_MANAGER)) {
            warnOnce(
                    "Workspace manager " + type + " is not ND4J's own and stays in place: bytes are counted, but not by"
                            + " workspace, layer and phase. Remove the system property 'workspacemanager' to get these.");
            return;
        }
        try {
            destroyClosedWorkspaces(manager);
            MemoryWorkspaceManager ours = type.equals(CPU_MANAGER) ? new TrackingCpuWorkspaceManager() : cudaManager();
            ours.setDebugMode(manager.getDebugMode());
            shareWorkspaces(manager, ours);
            setManager(ours);
            originalManager = manager;
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            log.warn("Bytes are counted, but not by workspace, layer and phase: {}", e.toString());
        }
    }

    private static MemoryWorkspaceManager cudaManager() throws ReflectiveOperationException {
        String name = MemoryHooks.class.getPackageName() + ".TrackingCudaWorkspaceManager";
        return Class.forName(name)
                .asSubclass(MemoryWorkspaceManager.class)
                .getDeclaredConstructor()
                .newInstance();
    }

    private static void restoreManager() {
        MemoryWorkspaceManager ours = Nd4j.getWorkspaceManager();
        if (!isOurs(ours.getClass().getName())) {
            return;
        }
        try {
            destroyClosedWorkspaces(ours);
            MemoryWorkspaceManager stock = originalManager;
            if (stock == null) {
                stock = ours.getClass()
                        .getSuperclass()
                        .asSubclass(MemoryWorkspaceManager.class)
                        .getDeclaredConstructor()
                        .newInstance();
                stock.setDebugMode(ours.getDebugMode());
            }
            shareWorkspaces(ours, stock);
            setManager(stock);
            originalManager = null;
        } catch (ReflectiveOperationException | RuntimeException e) {
            log.warn("The recorder could not be removed from ND4J's workspaces and stays: {}", e.toString());
        }
    }

    static boolean isOurs(String manager) {
        return manager.startsWith(MemoryHooks.class.getPackageName() + ".Tracking");
    }

    /** Threads amid an iteration have scopes open and look for them in whatever manager is in place. */
    private static void shareWorkspaces(MemoryWorkspaceManager from, MemoryWorkspaceManager to)
            throws ReflectiveOperationException {
        Field field = BasicWorkspaceManager.class.getDeclaredField("backingMap");
        field.setAccessible(true);
        field.set(to, field.get(from));
    }

    private static void setManager(MemoryWorkspaceManager manager) throws ReflectiveOperationException {
        Field field = Nd4j.class.getDeclaredField("workspaceManager");
        field.setAccessible(true);
        field.set(null, manager);
    }

    /** One by one, because destroying all of a thread's workspaces at once also forces a garbage collection. */
    private static void destroyClosedWorkspaces(MemoryWorkspaceManager manager) {
        for (MemoryWorkspace workspace : new ArrayList<>(manager.getAllWorkspacesForCurrentThread())) {
            if (!workspace.isScopeActive()) {
                manager.destroyWorkspace(workspace);
            }
        }
    }

    /** False while Nd4j's static initialiser is still at work. */
    private static boolean isStarted() {
        try {
            return Nd4j.getExecutioner() != null && Nd4j.factory() != null && Nd4j.getBlasWrapper() != null;
        } catch (RuntimeException e) {
            return false;
        }
    }

    private static void warnIfUntested() {
        String version = Nd4jFacts.version();
        if (!Nd4jFacts.TESTED_VERSIONS.contains(version)) {
            warnOnce("ND4J " + version + " is not one of the tested versions " + Nd4jFacts.TESTED_VERSIONS
                    + ": check figures before you rely on them.");
        }
    }

    private static void warnOnce(String message) {
        if (warned.add(message)) {
            log.warn(message);
        } else {
            log.debug(message);
        }
    }
}
