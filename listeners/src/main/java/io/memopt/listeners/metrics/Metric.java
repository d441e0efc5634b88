// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Every meter of this project: name, base unit, type and description. Prometheus registries make
 * {@code memopt_live_bytes} of {@code memopt.live} and append {@code _total} or {@code _seconds}; where two meters would
 * share a name, the unit is part of it.
 */
public enum Metric {
    LIVE(
            "memopt.live",
            "bytes",
            Type.LEVEL,
            "Bytes in use now: arrays in workspace blocks, detached arrays and spills; exact"),
    LIVE_PEAK("memopt.live.peak", "bytes", Type.PEAK, "Largest sum of live bytes since the previous scrape"),
    RESERVED("memopt.reserved", "bytes", Type.LEVEL, "Bytes held from the operating system or driver now"),
    RESERVED_PEAK(
            "memopt.reserved.peak", "bytes", Type.PEAK, "Largest sum of reserved bytes since the previous scrape"),
    WASTED(
            "memopt.wasted",
            "bytes",
            Type.LEVEL,
            "Bytes of workspace blocks that no array used at the fullest moment of the last cycle"),
    WORKSPACE_RESERVED(
            "memopt.workspace.reserved", "bytes", Type.LEVEL, "Block size of a workspace, summed over threads"),
    WORKSPACE_USED(
            "memopt.workspace.used",
            "bytes",
            Type.PEAK,
            "Largest use of a workspace block in a cycle since the previous scrape, summed over threads"),
    WORKSPACE_SPILLED(
            "memopt.workspace.spilled", "bytes", Type.FLOW, "Bytes of allocations that did not fit their workspace"),
    WORKSPACE_SPILLS(
            "memopt.workspace.spills", null, Type.FLOW, "Number of allocations that did not fit their workspace"),
    WORKSPACE_RESIZES(
            "memopt.workspace.resizes", null, Type.FLOW, "Times that a workspace block was allocated after the first"),
    THREAD_WORKSPACE("memopt.thread.workspace", "bytes", Type.LEVEL, "Workspace block bytes that a thread holds"),
    THREAD_IDLE(
            "memopt.thread.idle", "seconds", Type.LEVEL, "Time since the thread last entered one of its workspaces"),
    LAYER_PEAK(
            "memopt.layer.peak",
            "bytes",
            Type.PEAK,
            "Most bytes of a layer in a phase since the previous scrape; peaks of its categories are added, so an upper bound"),
    GC_OWNED(
            "memopt.gc.owned",
            "bytes",
            Type.LEVEL,
            "Detached bytes that no network holds: only close() or the Java garbage collector frees them"),
    GC_FORCED("memopt.gc.forced", "seconds", Type.TIMER, "Garbage collections forced by System.gc()"),
    GARBAGE_RELEASED(
            "memopt.garbage.released",
            "bytes",
            Type.FLOW,
            "Bytes of detached arrays that were freed as soon as they were dead, not by the Java garbage collector"),
    PLAN_SERVED("memopt.plan.served", null, Type.FLOW, "Passes whose workspace arrays came from a planned arena"),
    PLAN_MISSED(
            "memopt.plan.missed",
            null,
            Type.FLOW,
            "Passes that asked for other arrays than planned; ND4J served the rest"),
    ARENA_SIZED("memopt.arena.sized", null, Type.FLOW, "Passes whose workspace arrays lay in an arena without a plan"),
    ARENA_RESIZES("memopt.arena.resizes", null, Type.FLOW, "Times that an arena gave way to a larger one"),
    ARENA_TRIMMED(
            "memopt.arena.trimmed",
            "bytes",
            Type.FLOW,
            "Bytes of arenas given back because passes had not needed them for long"),
    ARENA_IDLE("memopt.arena.idle", "bytes", Type.FLOW, "Bytes of arenas given back because their threads were idle"),
    POOL_RESERVED("memopt.pool.reserved", "bytes", Type.LEVEL, "Device memory that the pools hold from the driver"),
    POOL_LIVE("memopt.pool.live", "bytes", Type.LEVEL, "Device memory that the pools have handed out"),
    POOL_DRIVER_CALLS(
            "memopt.pool.driver.calls",
            null,
            Type.FLOW,
            "Calls with which the pools obtained, mapped or gave back device memory"),
    DEVICE_MEMORY(
            "memopt.device.memory",
            "bytes",
            Type.LEVEL,
            "The driver's figure of device memory in use, by what took it; parts add up to it"),
    HOST_MIRRORS(
            "memopt.host.mirrors",
            "bytes",
            Type.LEVEL,
            "Pageable memory in the place of page-locked host mirrors; hardly any of it is resident"),
    OFFLOAD_LATE(
            "memopt.offload.late",
            null,
            Type.FLOW,
            "Copies of what had been offloaded to the host that were under way when training began to count on them"),
    OFFLOAD_WAITED(
            "memopt.offload.waited",
            "seconds",
            Type.FLOW,
            "Time that devices stood still for copies of what had been offloaded to the host"),
    HEADROOM(
            "memopt.headroom",
            "bytes",
            Type.LEVEL,
            "Bytes to the nearest limit when that was last looked at, after every eighth iteration"),
    HEADROOM_ITERATIONS(
            "memopt.headroom.iterations",
            null,
            Type.LEVEL,
            "Iterations to the nearest limit at the slope of the last 32; no number without growth"),
    OOM_RECOVERIES(
            "memopt.oom.recoveries",
            null,
            Type.FLOW,
            "Iterations that ran out of memory, were undone, and came through in another way"),
    EXTRA_PASSES(
            "memopt.extra.passes",
            null,
            Type.FLOW,
            "Forward and backward passes that are no iterations: of copies, to rehearse, to verify, to repeat"),
    ALLOCATIONS("memopt.allocations", null, Type.FLOW, "Number of allocations that hold memory of their own"),
    ALLOCATED("memopt.allocated", "bytes", Type.FLOW, "Bytes obtained from the operating system or driver"),
    FREED("memopt.freed", "bytes", Type.FLOW, "Bytes given back to the operating system or driver"),
    ALLOCATION_FAILURES(
            "memopt.allocation.failures", null, Type.FLOW, "Allocations refused by the operating system or driver"),
    TRANSFER("memopt.transfer", "bytes", Type.FLOW, "Bytes copied between memory spaces"),
    TRANSFER_SECONDS("memopt.transfer.seconds", "seconds", Type.FLOW, "Time that callers spent in copies"),
    TINY_TRANSFERS(
            "memopt.transfers.tiny",
            null,
            Type.FLOW,
            "Copies of fewer than 4096 bytes: their cost is the call, not the bytes"),
    STREAM_SYNCHRONIZATIONS(
            "memopt.stream.synchronizations",
            null,
            Type.FLOW,
            "Times that a thread waited for all work of a stream of a device"),
    ITERATION_SECONDS("memopt.iteration.seconds", "seconds", Type.TIMER, "Duration of training iterations"),
    PHASE("memopt.phase", "seconds", Type.TIMER, "Time in the phases of training and inference"),
    ITERATION("memopt.iteration", null, Type.LEVEL, "Number of the last finished iteration"),
    EPOCH("memopt.epoch", null, Type.LEVEL, "Number of the current epoch"),
    PROCESS_RESIDENT(
            "memopt.process.resident", "bytes", Type.LEVEL, "Physical memory that the process occupies (VmRSS)"),
    JVM_COMMITTED("memopt.jvm.committed", "bytes", Type.LEVEL, "Memory committed by the JVM; not all need be resident"),
    UNATTRIBUTED(
            "memopt.unattributed",
            "bytes",
            Type.LEVEL,
            "Resident bytes beyond the committed JVM memory, direct buffers and known off-heap memory; a lower bound"),
    LIMIT("memopt.limit", "bytes", Type.LEVEL, "Memory limits in force"),
    RECORDER_EVENTS("memopt.recorder.events", null, Type.FLOW, "Memory events recorded"),
    RECORDER_LOST_EVENTS("memopt.recorder.lost.events", null, Type.FLOW, "Memory events that the trace file lost"),
    RECORDER_OVERHEAD(
            "memopt.recorder.overhead.seconds",
            "seconds",
            Type.FLOW,
            "Estimated time spent recording: events times the cost of one, measured at start"),
    RECORDER_MEMORY("memopt.recorder.memory", "bytes", Type.LEVEL, "Estimated memory held by the recorder itself"),
    NETWORKS("memopt.networks", null, Type.LEVEL, "Attached networks"),
    PREFETCH_BATCHES("memopt.prefetch.batches", null, Type.FLOW, "Batches that prefetching iterators handed out"),
    PREFETCH_PREPARATION(
            "memopt.prefetch.preparation.seconds",
            "seconds",
            Type.FLOW,
            "Time that threads of prefetching iterators took to read, prepare and copy batches"),
    PREFETCH_WAIT(
            "memopt.prefetch.wait.seconds",
            "seconds",
            Type.FLOW,
            "The part of it that was not hidden: training waited for a batch"),
    PREFETCH_WAITS("memopt.prefetch.waits", null, Type.FLOW, "Batches that training had to wait for"),
    PREFETCH_AHEAD("memopt.prefetch.ahead", "bytes", Type.LEVEL, "Bytes of batches read ahead of training"),
    LEAKED_PREFETCHERS(
            "memopt.leaked.prefetchers", null, Type.LEVEL, "Prefetch threads whose iterator nobody reads any more");

    /** What a meter measures. */
    public enum Type {
        /** A gauge of what is now. */
        LEVEL,
        /** A gauge of the largest level since the previous scrape. */
        PEAK,
        /** A monotonic counter. */
        FLOW,
        TIMER
    }

    private final String meterName;
    private final Optional<String> baseUnit;
    private final Type type;
    private final String description;

    Metric(String meterName, @Nullable String baseUnit, Type type, String description) {
        this.meterName = meterName;
        this.baseUnit = Optional.ofNullable(baseUnit);
        this.type = type;
        this.description = description;
    }

    /** Name in Micrometer's dotted form. */
    public String meterName() {
        return meterName;
    }

    /** {@code bytes} or {@code seconds}; empty for plain numbers. */
    public Optional<String> baseUnit() {
        return baseUnit;
    }

    public Type type() {
        return type;
    }

    public String description() {
        return description;
    }
}
