// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.recording.TraceReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The streaming bound against one that keeps every life and sums up all of them at each birth. */
class LivenessTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
    void liveness_ofRandomTrace_equalsBruteForce(long seed) throws IOException {
        Path file = folder.resolve("t.memopt");
        RandomTrace.writeWithUses(file, seed, 600);
        Brute brute = new Brute(file);

        TraceAnalysis analysis = TraceAnalyzer.analyze(file);

        assertThat(analysis.facts().exact()).isTrue();
        LivenessRow row = analysis.liveness().get(0);
        assertThat(analysis.liveness()).hasSize(1);
        assertThat(row.exact()).isTrue();
        assertThat(row.arrays()).isEqualTo(brute.lives.size());
        assertThat(row.lowerBoundBytes()).isEqualTo(brute.peak(life -> true, true));
        assertThat(row.unknownArrays()).isEqualTo(brute.count(life -> !life.told));
        assertThat(row.unseenArrays()).isEqualTo(brute.count(life -> life.told && life.unseen));
        assertThat(row.workspaces()).isNotEmpty();
        for (LivenessRow.Share share : row.workspaces()) {
            assertThat(share.lowerBoundBytes()).isEqualTo(brute.peak(life -> life.workspace == share.id(), true));
            assertThat(share.arrayBytes()).isEqualTo(brute.peak(life -> life.workspace == share.id(), false));
        }
        assertThat(row.arrayBytes())
                .isEqualTo(brute.peak(life -> true, false))
                .isGreaterThanOrEqualTo(row.lowerBoundBytes());
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void waste_ofRandomTrace_hasDeadArraysApart(long seed) throws IOException {
        Path file = folder.resolve("t.memopt");
        RandomTrace.writeWithUses(file, seed, 600);

        TraceAnalysis analysis = TraceAnalyzer.analyze(file);

        Peak peak = analysis.peak(Measure.RESERVED, analysis.focus()).orElseThrow();
        assertThat(part(analysis, Waste.Kind.DEAD_IN_SCOPE)).hasValue(new Brute(file).deadAt(peak.event()));
        assertThat(analysis.waste().parts().stream()
                        .mapToLong(part -> part.bytes().orElse(0))
                        .sum())
                .isEqualTo(analysis.waste().reservedBytes());
    }

    @Test
    void trace_withoutUses_saysThatItIsUnknown() throws IOException {
        Path file = folder.resolve("t.memopt");
        RandomTrace.write(file, 1, 400);

        TraceAnalysis analysis = TraceAnalyzer.analyze(file);

        assertThat(analysis.liveness()).isEmpty();
        assertThat(part(analysis, Waste.Kind.DEAD_IN_SCOPE)).isEmpty();
    }

    @Test
    void arrayThatOutlivesTheWindow_boundIsAnUpperEstimate() {
        LiveBound bound = new LiveBound();
        bound.born(0, 100);
        for (int i = 1; i <= 1 << 20; i++) {
            bound.born(i, 1);
            bound.ended(i, i, 1);
        }
        bound.ended(0, 5, 100);

        assertThat(bound.isExact()).isFalse();
        assertThat(bound.bound()).isEqualTo(101);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void boundOfManyDomains_withSkippedBirths_equalsTheSumAtEachBirth(long seed) {
        Random random = new Random(seed);
        List<long[]> lives = new ArrayList<>(); // birth, last, bytes
        LiveBound bound = new LiveBound();
        List<long[]> open = new ArrayList<>();
        long index = 0;
        for (int i = 0; i < 3000; i++) {
            index += 1 + random.nextInt(5);
            long[] life = {index, 0, 1 + random.nextInt(1000)};
            bound.born(index, life[2]);
            open.add(life);
            lives.add(life);
            while (!open.isEmpty() && random.nextInt(3) > 0) {
                end(bound, open.remove(random.nextInt(open.size())), index, random);
            }
        }
        for (long[] life : open) {
            end(bound, life, index, random);
        }
        long most = 0;
        for (long[] at : lives) {
            most = Math.max(
                    most,
                    lives.stream()
                            .filter(life -> life[0] <= at[0] && life[1] >= at[0])
                            .mapToLong(life -> life[2])
                            .sum());
        }
        assertThat(bound.bound()).isEqualTo(most);
        assertThat(bound.isExact()).isTrue();
    }

    private static void end(LiveBound bound, long[] life, long newest, Random random) {
        life[1] = life[0] + random.nextInt((int) (newest - life[0]) + 1);
        bound.ended(life[0], life[1], life[2]);
    }

    private static OptionalLong part(TraceAnalysis analysis, Waste.Kind kind) {
        return analysis.waste().parts().stream()
                .filter(part -> part.kind() == kind)
                .findFirst()
                .orElseThrow()
                .bytes();
    }

    /** Arrays of a trace with one thread, each with all its moments. */
    private static final class Brute {
        private final List<Life> lives = new ArrayList<>();
        private final List<MemoryEvent> events = new ArrayList<>();
        private final Map<Integer, Long> blocks = new HashMap<>();

        Brute(Path file) throws IOException {
            try (TraceReader reader = new TraceReader(file)) {
                for (MemoryEvent event : reader) {
                    apply(event, events.size());
                    events.add(event);
                }
            }
            for (Life life : lives) {
                life.last = life.told ? life.last : Math.min(life.lastBirth, lives.size() - 1);
            }
        }

        private void apply(MemoryEvent event, int at) {
            if (event instanceof MemoryEvent.Allocate a) {
                if (a.allocation() == AllocationKind.WORKSPACE_ARRAY || a.allocation() == AllocationKind.SPILL) {
                    lives.add(new Life(a, lives.size(), at));
                }
            } else if (event instanceof MemoryEvent.LastUse use) {
                Life life = live(use.address(), use.workspace());
                life.told = true;
                life.unseen = use.span() == 0;
                life.last = life.birth + (int) Math.max(0, use.span() - 1);
                life.lastNanos = use.timeNanos() - use.idleNanos();
            } else if (event instanceof MemoryEvent.Free free && free.allocation() == AllocationKind.SPILL) {
                lives.stream()
                        .filter(life -> life.end == Integer.MAX_VALUE
                                && life.spilled
                                && life.address == free.address()
                                && life.start == free.timeNanos() - free.ageNanos())
                        .findFirst()
                        .orElseThrow()
                        .end(at, lives.size() - 1);
            } else if (event instanceof MemoryEvent.ScopeRelease release) {
                lives.stream()
                        .filter(life ->
                                life.end == Integer.MAX_VALUE && !life.spilled && life.workspace == release.workspace())
                        .forEach(life -> life.end(at, lives.size() - 1));
            }
        }

        private Life live(long address, int workspace) {
            return lives.stream()
                    .filter(life ->
                            life.end == Integer.MAX_VALUE && life.address == address && life.workspace == workspace)
                    .findFirst()
                    .orElseThrow();
        }

        long count(Predicate<Life> which) {
            return lives.stream().filter(which).count();
        }

        /** Most bytes at one birth; up to the last use, or at one event up to the end. */
        long peak(Predicate<Life> which, boolean toLastUse) {
            long most = 0;
            for (Life at : lives) {
                most = Math.max(
                        most,
                        lives.stream()
                                .filter(which)
                                .filter(life -> life.birth <= at.birth
                                        && (toLastUse ? life.last >= at.birth : life.end > at.event))
                                .mapToLong(life -> life.bytes)
                                .sum());
            }
            return most;
        }

        /** Arrays that lie in a block or spilled, were live at the event, and had been used for the last time. */
        long deadAt(long event) {
            long now = events.get((int) event).timeNanos();
            for (int i = 0; i <= event; i++) {
                if (events.get(i) instanceof MemoryEvent.Allocate a
                        && a.allocation() == AllocationKind.WORKSPACE_BLOCK) {
                    blocks.merge(a.workspace(), 1L, Long::sum);
                } else if (events.get(i) instanceof MemoryEvent.Free f
                        && f.allocation() == AllocationKind.WORKSPACE_BLOCK) {
                    blocks.merge(f.workspace(), -1L, Long::sum);
                }
            }
            return lives.stream()
                    .filter(life -> life.event <= event && life.end > event && life.told && !life.unseen)
                    .filter(life -> life.spilled || blocks.getOrDefault(life.workspace, 0L) > 0)
                    .filter(life -> life.lastNanos < now)
                    .mapToLong(life -> life.bytes)
                    .sum();
        }
    }

    private static final class Life {
        private final long address;
        private final int workspace;
        private final long bytes;
        private final long start;
        private final boolean spilled;
        private final int birth;
        private final int event;
        private int end = Integer.MAX_VALUE;
        private int lastBirth = Integer.MAX_VALUE;
        private boolean told;
        private boolean unseen;
        private int last;
        private long lastNanos;

        Life(MemoryEvent.Allocate a, int birth, int event) {
            this.address = a.address();
            this.workspace = a.workspace();
            this.bytes = a.roundedBytes();
            this.start = a.timeNanos();
            this.spilled = a.allocation() == AllocationKind.SPILL;
            this.birth = birth;
            this.event = event;
        }

        void end(int at, int newest) {
            end = at;
            lastBirth = newest;
        }
    }
}
