// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.pool.CopyFigures;
import io.memopt.allocator.pool.CopyLanes;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.bytedeco.javacpp.Pointer;

/**
 * Lanes without a device, between two places of the host's memory. A real lane may copy at any time between the call that begins a copy
 * and the first thing that waits for it; here that time is chosen, the earliest or the latest foremost. From the begin on the
 * destination holds no number, so that who reads too early, or writes over the source too early, trains to other bits.
 */
public final class SimulatedLanes implements CopyLanes {
    /** When copies are made. */
    public enum Pace {
        EARLIEST,
        LATEST,
        RANDOM
    }

    private static final int NO_NUMBER = 0xFF;

    private final Pace pace;
    private final Random random = new Random(11);
    private final Deque<Copy> out = new ArrayDeque<>();
    private final Deque<Copy> in = new ArrayDeque<>();
    private final Map<Long, Copy> pending = new HashMap<>();
    private final Set<Long> known = new HashSet<>();
    private CopyFigures figures = CopyFigures.NONE;
    private long last;

    public SimulatedLanes(Pace pace) {
        this.pace = pace;
    }

    private record Copy(long number, long from, long to, long bytes, List<Long> after, Deque<Copy> lane) {}

    /** Has lanes of {@code pace} be those of the backend, until the result is closed. */
    public static Installed install(Pace pace) {
        SimulatedLanes lanes = new SimulatedLanes(pace);
        DeviceCopies.standIn(() -> lanes);
        return new Installed(lanes);
    }

    /** Lanes that stand in. */
    public record Installed(SimulatedLanes lanes) implements AutoCloseable {
        @Override
        public void close() {
            DeviceCopies.standIn(null);
        }
    }

    @Override
    public long toHost(long device, long host, long bytes, long... after) {
        figures = figures.leaving(bytes);
        return begin(device, host, bytes, list(after), out);
    }

    @Override
    public long toDevice(long host, long device, long bytes, long... after) {
        figures = figures.arriving(bytes);
        return begin(host, device, bytes, list(after), in);
    }

    private static List<Long> list(long[] after) {
        return Arrays.stream(after).boxed().toList();
    }

    private long begin(long from, long to, long bytes, List<Long> after, Deque<Copy> lane) {
        check(bytes > 0, "copy of " + bytes + " B");
        after.forEach(copy -> check(copy == NONE || known.contains(copy), "after " + copy));
        Copy copy = new Copy(++last, from, to, bytes, after, lane);
        known.add(copy.number);
        pending.put(copy.number, copy);
        lane.addLast(copy);
        if (pace == Pace.EARLIEST || (pace == Pace.RANDOM && random.nextBoolean())) {
            run(copy.number);
        } else if (after.stream().noneMatch(pending::containsKey)) { // else somebody may still read there
            Pointer.memset(new Place(to), NO_NUMBER, bytes);
        }
        return copy.number;
    }

    private void run(long number) {
        Copy wanted = pending.get(number);
        while (wanted != null && pending.containsKey(number)) {
            Copy next = wanted.lane.removeFirst();
            next.after.forEach(this::run);
            Pointer.memcpy(new Place(next.to), new Place(next.from), next.bytes);
            pending.remove(next.number);
        }
    }

    @Override
    public void hold(long copy) {
        await(copy);
    }

    private void await(long copy) {
        if (copy != NONE) {
            check(known.contains(copy), "wait for " + copy);
            run(copy);
        }
    }

    @Override
    public void forget(long copy) {
        check(copy == NONE || known.remove(copy), "forget " + copy);
    }

    @Override
    public CopyFigures figures() {
        return figures;
    }

    /** Copies that were begun and that nothing has waited for. */
    public int underWay() {
        return pending.size();
    }

    /** Copies that somebody may still ask for. */
    public int remembered() {
        return known.size();
    }

    private static void check(boolean expected, String misuse) {
        if (!expected) {
            throw new IllegalStateException("misuse of the lanes: " + misuse);
        }
    }

    private static final class Place extends Pointer {
        private Place(long at) {
            address = at;
        }
    }
}
