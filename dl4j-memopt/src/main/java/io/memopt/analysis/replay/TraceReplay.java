// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.WorkspaceTable.WorkspaceInfo;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceVisitor;
import io.memopt.analysis.LiveSet;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Plays the arrays of one space to allocators: sizes as requested, order as recorded, arrays inside workspaces alive to the
 * end of their scope as they were; only {@link Allocators#PLANNED} looks at last uses. What ND4J itself held is the row
 * {@link Allocators#RECORDED}.
 *
 * <p>Reads the trace twice. Memory: what {@link LiveSet} takes plus one object for each live array and model.
 */
public final class TraceReplay {
    private static final int PROGRESS = 0xffff;

    private TraceReplay() {}

    /**
     * One row for each name, in that order.
     *
     * @param names some of {@link Allocators#names()}
     * @param space whose arrays
     * @param progress told now and then how many events were read, over both passes
     * @throws IllegalArgumentException if a name is unknown
     */
    public static List<ReplayRow> replay(
            TraceReader reader, List<String> names, MemorySpace space, LongConsumer progress) throws IOException {
        List<Player> contestants = new ArrayList<>();
        for (String name : names) {
            contestants.add(player(name, reader));
        }
        Pass survivors = new Pass(reader, space, progress, 0);
        reader.read(survivors);
        Pass play = new Pass(reader, space, progress, survivors.events);
        play.survivors = survivors.outlived();
        play.trainingOnly = survivors.training;
        play.contestants = contestants;
        play.limit = survivors.events;
        reader.read(play);
        boolean stepless = survivors.step == 0 && survivors.passSteps == 0;
        return contestants.stream().map(each -> each.row(stepless)).toList();
    }

    private static Player player(String name, TraceReader reader) {
        return switch (name) {
            case Allocators.PLANNED ->
                new PlannedArena(id ->
                        reader.workspace(id).filter(WorkspaceInfo::circular).isPresent());
            case Allocators.RECORDED, Allocators.LOWER_BOUND -> new Contestant(name, null);
            default -> new Contestant(name, Allocators.create(name));
        };
    }

    /** First finds what outlives its step, then plays. */
    private static final class Pass implements TraceVisitor, LiveSet.Listener {
        private final TraceReader reader;
        private final MemorySpace space;
        private final LongConsumer progress;
        private final long before;
        private final LiveSet live;
        private final Map<Long, Boolean> inPass = new HashMap<>();
        private final BitSet outlived = new BitSet();
        private @Nullable BitSet survivors;
        private List<Player> contestants = List.of();
        private boolean training;
        private boolean trainingOnly;
        private long limit = Long.MAX_VALUE;
        private long events;
        private int step;
        private int passSteps;
        private int[] startSteps = new int[64];
        private int[] startPassSteps = new int[64];
        private final BitSet outlivedPass = new BitSet();

        Pass(TraceReader reader, MemorySpace space, LongConsumer progress, long before) {
            this.reader = reader;
            this.space = space;
            this.progress = progress;
            this.before = before;
            live = new LiveSet(reader.header().startNanos(), this);
        }

        @Override
        public void accept(
                int code, long time, long thread, int owner, int workspace, long address, long bytes, long extra) {
            if (events == limit) {
                return;
            }
            if ((++events & PROGRESS) == 0) {
                progress.accept(before + events);
            }
            live.accept(code, time, thread, owner, workspace, address, bytes, extra);
            EventKind kind = EventCode.kind(code);
            if (kind == EventKind.ITERATION) {
                step++;
                training = true;
                if (trainingOnly) {
                    contestants.forEach(Player::iterationEnded);
                }
            } else if (kind == EventKind.CONTEXT
                    && beginsPass(thread, reader.owner(owner).phase())) {
                passSteps++;
                if (!trainingOnly) {
                    contestants.forEach(Player::iterationEnded);
                }
            }
        }

        @Override
        public void gap(long missing) {
            live.gap(missing);
        }

        @Override
        public void began(int slot) {
            if (slot >= startSteps.length) {
                startSteps = Arrays.copyOf(startSteps, Math.max(slot + 1, startSteps.length * 2));
                startPassSteps = Arrays.copyOf(startPassSteps, startSteps.length);
            }
            startSteps[slot] = step;
            startPassSteps[slot] = passSteps;
            for (Player contestant : contestants) {
                contestant.born(live, slot, live.space(slot) == space);
            }
            if (live.space(slot) == space) {
                boolean array = live.kind(slot) != AllocationKind.WORKSPACE_BLOCK;
                for (Player contestant : contestants) {
                    contestant.began(live, slot, array, outlives(slot));
                }
            }
        }

        @Override
        public void ended(int slot, long timeNanos, long thread) {
            if (live.startEvent(slot) <= Integer.MAX_VALUE) {
                if (startSteps[slot] != step) {
                    outlived.set((int) live.startEvent(slot));
                }
                if (startPassSteps[slot] != passSteps) {
                    outlivedPass.set((int) live.startEvent(slot));
                }
            }
            if (live.space(slot) == space) {
                boolean array = live.kind(slot) != AllocationKind.WORKSPACE_BLOCK;
                for (Player contestant : contestants) {
                    contestant.ended(live, slot, array);
                }
            }
        }

        @Override
        public void lastUsed(int slot, long lastUseNanos, long span) {
            for (Player contestant : contestants) {
                contestant.lastUsed(slot, span);
            }
        }

        private boolean outlives(int slot) {
            return survivors == null || survivors.get((int) Math.min(Integer.MAX_VALUE, live.startEvent(slot)));
        }

        private boolean beginsPass(long thread, Phase phase) {
            boolean now = phase == Phase.INFERENCE || phase == Phase.EVALUATION;
            Boolean was = inPass.put(thread, now);
            return now && (was == null || !was);
        }

        /** What was still live at the end outlived everything. */
        BitSet outlived() {
            BitSet set = training ? outlived : outlivedPass;
            for (int slot = 0; slot < live.slotLimit(); slot++) {
                if (live.isLive(slot) && live.startEvent(slot) <= Integer.MAX_VALUE) {
                    set.set((int) live.startEvent(slot));
                }
            }
            return set;
        }
    }

    /** One row in the making. */
    private static final class Contestant implements Player {
        private final String name;
        private final @Nullable AllocatorModel model;
        private @Nullable Object[] handles = new Object[64];
        private long requested;
        private long rounded;
        private long reserved;
        private long calls;
        private long peak;
        private long requestedAtPeak;
        private long roundedAtPeak;
        private long holeAtPeak;

        Contestant(String name, @Nullable AllocatorModel model) {
            this.name = name;
            this.model = model;
        }

        @Override
        public void began(LiveSet live, int slot, boolean array, boolean outlives) {
            long bytes = live.requestedBytes(slot);
            if (array) {
                requested += bytes;
                rounded += live.roundedBytes(slot);
            }
            if (model == null) {
                boolean counts = name.equals(Allocators.LOWER_BOUND)
                        ? array
                        : live.kind(slot).ownsMemory();
                if (counts) {
                    reserved += name.equals(Allocators.LOWER_BOUND) ? bytes : live.roundedBytes(slot);
                    calls += live.kind(slot).ownsMemory() ? 1 : 0;
                }
            } else if (array && bytes > 0) {
                if (slot >= handles.length) {
                    handles = Arrays.copyOf(handles, Math.max(slot + 1, handles.length * 2));
                }
                handles[slot] = model.allocate(bytes, outlives);
                reserved = model.reservedBytes();
            }
            if (reserved > peak) {
                peak = reserved;
                requestedAtPeak = requested;
                roundedAtPeak = model == null ? rounded : model.roundedBytes();
                holeAtPeak = model == null ? 0 : model.largestHoleBytes();
            }
        }

        @Override
        public void ended(LiveSet live, int slot, boolean array) {
            if (array) {
                requested -= live.requestedBytes(slot);
                rounded -= live.roundedBytes(slot);
            }
            if (model == null) {
                if (name.equals(Allocators.LOWER_BOUND)) {
                    reserved -= array ? live.requestedBytes(slot) : 0;
                } else if (live.kind(slot).ownsMemory()) {
                    reserved -= live.roundedBytes(slot);
                    calls++;
                }
                return;
            }
            Object handle = slot < handles.length ? handles[slot] : null;
            if (array && handle != null) {
                model.free(handle);
                handles[slot] = null;
                reserved = model.reservedBytes();
            }
        }

        @Override
        public void iterationEnded() {
            if (model != null) {
                model.iterationEnded();
                reserved = model.reservedBytes();
            }
        }

        @Override
        public ReplayRow row(boolean stepless) {
            boolean bound = name.equals(Allocators.LOWER_BOUND);
            return new ReplayRow(
                    name,
                    peak,
                    requestedAtPeak,
                    bound ? requestedAtPeak : Math.min(roundedAtPeak, peak),
                    holeAtPeak,
                    reserved,
                    model == null ? (bound ? 0 : calls) : model.driverCalls(),
                    remark(bound) + (stepless && model != null ? "; the trace marks no iterations" : ""));
        }

        private String remark(boolean bound) {
            if (model != null) {
                return Allocators.remark(name);
            }
            return bound ? "most bytes live at once, as recorded" : "what ND4J held, as recorded";
        }
    }
}
