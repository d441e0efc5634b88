// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.recording.LiveReplay;
import io.memopt.allocator.recording.TraceReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Function;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The streaming analysis against one that keeps everything and looks at all of it after each event. */
class BruteForceTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
    void analysis_ofRandomTrace_equalsBruteForce(long seed) throws IOException {
        Path file = folder.resolve("t.memopt");
        RandomTrace.write(file, seed, 400);
        Brute brute = new Brute(file);

        AnalysisOptions options = new AnalysisOptions(1000, 1000, 200, 7, 1000, List.of(-1, 0), n -> {});
        TraceAnalysis analysis = TraceAnalyzer.analyze(file, TraceReader.OnCorruption.FAIL, options);

        assertThat(analysis.facts().exact()).isTrue();
        for (Measure measure : Measure.values()) {
            for (MemorySpace space : MemorySpace.values()) {
                check(analysis, brute, measure, space);
            }
        }
        assertThat(peaks(analysis.layers()))
                .isEqualTo(brute.groupPeaks(o -> new LayerKey(o.network(), o.layer(), o.phase())));
        assertThat(peaks(analysis.categories())).isEqualTo(brute.groupPeaks(Owner::category));
        assertThat(peaks(analysis.workspaceNames())).isEqualTo(brute.groupPeaks(Owner::workspace));
        assertThat(analysis.iterations())
                .extracting(IterationRow::peakInUseBytes)
                .isEqualTo(brute.iterationPeaks(analysis.focus()));
        assertThat(analysis.waste().reservedBytes())
                .isEqualTo(analysis.waste().parts().stream()
                        .mapToLong(part -> part.bytes().orElse(0))
                        .sum())
                .isEqualTo(brute.reservedInAllSpaces(analysis.focus()));
        for (FragmentationSample sample : analysis.fragmentation()) {
            assertThat(sample.freeBytes()).isEqualTo(brute.freeInBlocks((int) sample.event(), analysis.focus()));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {21, 22, 23})
    void peaks_ofLongRandomTrace_equalLiveReplay(long seed) throws IOException {
        Path file = folder.resolve("t.memopt");
        RandomTrace.write(file, seed, 50_000);

        TraceAnalysis analysis = TraceAnalyzer.analyze(file);

        try (TraceReader reader = new TraceReader(file)) {
            LiveReplay replay = new LiveReplay(reader.header().startNanos());
            reader.read(replay);
            for (MemorySpace space : MemorySpace.values()) {
                assertThat(analysis.peakBytes(Measure.RESERVED, space)).isEqualTo(replay.peakReservedBytes(space));
                assertThat(analysis.peakBytes(Measure.IN_USE, space)).isEqualTo(replay.peakInUseBytes(space));
                long end = analysis.owners().stream()
                        .filter(row -> row.space() == space)
                        .mapToLong(UsageRow::endBytes)
                        .sum();
                assertThat(end).isEqualTo(replay.inUseBytes(space));
            }
        }
    }

    private static void check(TraceAnalysis analysis, Brute brute, Measure measure, MemorySpace space) {
        Optional<Peak> found = analysis.peak(measure, space);
        int event = brute.peakEvent(measure, space);
        assertThat(found.isPresent()).isEqualTo(event >= 0);
        if (found.isEmpty()) {
            return;
        }
        Peak peak = found.get();
        assertThat(peak.event()).isEqualTo(event);
        assertThat(peak.bytes()).isEqualTo(brute.sum(measure, space, event));
        assertThat(peak.shares().stream().mapToLong(Peak.Share::bytes).sum()).isEqualTo(peak.bytes());
        Map<Owner, Long> arrays = new HashMap<>();
        for (Peak.Share share : peak.shares()) {
            if (share.part() == Peak.Part.ARRAYS) {
                arrays.put(
                        new Owner(share.network(), share.layer(), share.phase(), share.category(), share.workspace()),
                        share.bytes());
            }
        }
        assertThat(arrays).isEqualTo(brute.arraysByOwner(space, event));
        assertThat(peak.holders()).containsExactlyInAnyOrderElementsOf(brute.holders(measure, space, event));
    }

    private static <K> Map<List<Object>, Long> peaks(List<UsageRow<K>> rows) {
        Map<List<Object>, Long> peaks = new HashMap<>();
        rows.forEach(row -> peaks.put(List.of(row.key(), row.space()), row.peakBytes()));
        peaks.values().removeIf(bytes -> bytes == 0);
        return peaks;
    }

    /** Knows every life and asks each of them, at every event. */
    private static final class Brute {
        private final List<MemoryEvent> events = new ArrayList<>();
        private final List<Life> lives = new ArrayList<>();

        Brute(Path file) throws IOException {
            try (TraceReader reader = new TraceReader(file)) {
                for (MemoryEvent event : reader) {
                    apply(event, events.size(), reader);
                    events.add(event);
                }
            }
        }

        private void apply(MemoryEvent event, int at, TraceReader reader) {
            if (event instanceof MemoryEvent.Allocate a) {
                lives.add(new Life(a, at, reader.owner(a.owner())));
            } else if (event instanceof MemoryEvent.Free f) {
                Life freed = lives.stream()
                        .filter(life -> life.to == Integer.MAX_VALUE
                                && life.made.allocation() == f.allocation()
                                && life.made.space() == f.space()
                                && life.made.address() == f.address()
                                && life.made.timeNanos() == f.timeNanos() - f.ageNanos())
                        .findFirst()
                        .orElseThrow();
                freed.end(at, f.timeNanos());
            } else if (event instanceof MemoryEvent.ScopeRelease r) {
                lives.stream()
                        .filter(life -> life.to == Integer.MAX_VALUE
                                && life.made.allocation() == AllocationKind.WORKSPACE_ARRAY
                                && life.made.workspace() == r.workspace())
                        .forEach(life -> life.end(at, r.timeNanos()));
            } else if (event instanceof MemoryEvent.Reclassify c) {
                lives.stream()
                        .filter(life -> life.to == Integer.MAX_VALUE && life.made.address() == c.address())
                        .filter(life -> life.made.space() == c.space())
                        .findFirst()
                        .orElseThrow()
                        .move(at, reader.owner(c.owner()));
            }
        }

        long sum(Measure measure, MemorySpace space, int event) {
            return lives.stream()
                    .filter(life -> life.isIn(measure) && life.made.space() == space && life.isAlive(event))
                    .mapToLong(life -> life.made.roundedBytes())
                    .sum();
        }

        int peakEvent(Measure measure, MemorySpace space) {
            int best = -1;
            long most = 0;
            for (int event = 0; event < events.size(); event++) {
                long sum = sum(measure, space, event);
                if (sum > most) {
                    most = sum;
                    best = event;
                }
            }
            return best;
        }

        Map<Owner, Long> arraysByOwner(MemorySpace space, int event) {
            Map<Owner, Long> sums = new HashMap<>();
            lives.stream()
                    .filter(life -> life.isIn(Measure.IN_USE) && life.made.space() == space && life.isAlive(event))
                    .forEach(life -> sums.merge(life.ownerAt(event), life.made.roundedBytes(), Long::sum));
            return sums;
        }

        List<Lifetime> holders(Measure measure, MemorySpace space, int event) {
            return lives.stream()
                    .filter(life -> life.isIn(measure) && life.made.space() == space && life.isAlive(event))
                    .map(Life::lifetime)
                    .toList();
        }

        <K> Map<List<Object>, Long> groupPeaks(Function<Owner, K> keyOf) {
            Map<List<Object>, Long> peaks = new HashMap<>();
            for (int event = 0; event < events.size(); event++) {
                Map<List<Object>, Long> sums = new HashMap<>();
                for (Life life : lives) {
                    if (life.isIn(Measure.IN_USE) && life.isAlive(event)) {
                        sums.merge(
                                List.of(keyOf.apply(life.ownerAt(event)), life.made.space()),
                                life.made.roundedBytes(),
                                Long::sum);
                    }
                }
                sums.forEach((key, bytes) -> peaks.merge(key, bytes, Math::max));
            }
            return peaks;
        }

        List<Long> iterationPeaks(MemorySpace space) {
            List<Long> peaks = new ArrayList<>();
            long most = 0;
            for (int event = 0; event < events.size(); event++) {
                long sum = sum(Measure.IN_USE, space, event);
                most = Math.max(most, sum);
                if (events.get(event) instanceof MemoryEvent.Iteration) {
                    peaks.add(most);
                    most = sum;
                }
            }
            return peaks;
        }

        long reservedInAllSpaces(MemorySpace focus) {
            int event = peakEvent(Measure.RESERVED, focus);
            long sum = 0;
            for (MemorySpace space : MemorySpace.values()) {
                sum += sum(Measure.RESERVED, space, event);
            }
            return sum;
        }

        long freeInBlocks(int event, MemorySpace space) {
            long free = 0;
            for (Life block : lives) {
                if (block.made.allocation() != AllocationKind.WORKSPACE_BLOCK
                        || block.made.space() != space
                        || !block.isAlive(event)) {
                    continue;
                }
                boolean[] taken = new boolean[(int) block.made.roundedBytes()];
                for (Life array : lives) {
                    if (array.made.allocation() == AllocationKind.WORKSPACE_ARRAY
                            && array.made.workspace() == block.made.workspace()
                            && array.isAlive(event)) {
                        int from = (int) (array.made.address() - block.made.address());
                        for (int i = from; i < from + array.made.roundedBytes(); i++) {
                            taken[i] = true;
                        }
                    }
                }
                for (boolean isTaken : taken) {
                    free += isTaken ? 0 : 1;
                }
            }
            return free;
        }
    }

    private static final class Life {
        private final MemoryEvent.Allocate made;
        private final int from;
        private int to = Integer.MAX_VALUE;
        private OptionalLong end = OptionalLong.empty();
        private final TreeMap<Integer, Owner> owners = new TreeMap<>();

        Life(MemoryEvent.Allocate made, int from, Owner owner) {
            this.made = made;
            this.from = from;
            owners.put(from, owner);
        }

        void end(int event, long nanos) {
            to = event;
            end = OptionalLong.of(nanos);
        }

        void move(int event, Owner owner) {
            owners.put(event, owner);
        }

        boolean isAlive(int event) {
            return from <= event && event < to;
        }

        boolean isIn(Measure measure) {
            return measure == Measure.RESERVED
                    ? made.allocation().ownsMemory()
                    : made.allocation() != AllocationKind.WORKSPACE_BLOCK;
        }

        Owner ownerAt(int event) {
            return owners.floorEntry(event).getValue();
        }

        Lifetime lifetime() {
            return new Lifetime(
                    made.allocation(),
                    made.space(),
                    made.address(),
                    made.requestedBytes(),
                    made.roundedBytes(),
                    made.timeNanos(),
                    end,
                    owners.lastEntry().getValue(),
                    made.workspace(),
                    made.thread());
        }
    }
}
