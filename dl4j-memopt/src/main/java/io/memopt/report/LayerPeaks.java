// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** The most that each layer had in use at once, in each phase and over all of them, and what it allocated in all. */
final class LayerPeaks {
    /** Phase null stands for all phases together. */
    record Key(String network, String layer, @Nullable Phase phase) {}

    /** Bytes in use now, at most, and when; sums of allocations. */
    static final class Row {
        final Key key;
        long now;
        long peak;
        long peakTime;
        long allocated;
        long allocations;

        Row(Key key) {
            this.key = key;
        }

        private void add(long bytes, long time) {
            now += bytes;
            if (now > peak) {
                peak = now;
                peakTime = time;
            }
        }
    }

    private record Pair(Row phase, Row all) {}

    private final IntFunction<Owner> owners;
    private final Map<Key, Row> rows = new HashMap<>();
    private final List<@Nullable Pair> byOwner = new ArrayList<>();

    LayerPeaks(IntFunction<Owner> owners) {
        this.owners = owners;
    }

    void born(Lifetime lifetime) {
        Pair pair = rowsOf(lifetime.owner);
        for (Row row : List.of(pair.phase, pair.all)) {
            row.add(lifetime.bytes, lifetime.birth);
            if (lifetime.allocated == lifetime.birth) {
                row.allocated += lifetime.bytes;
                row.allocations++;
            }
        }
    }

    void died(Lifetime lifetime) {
        Pair pair = rowsOf(lifetime.owner);
        pair.phase.now -= lifetime.bytes;
        pair.all.now -= lifetime.bytes;
    }

    /** The owner of an allocation became known: it is counted there and no longer where it was. */
    void moved(Lifetime before, Lifetime after) {
        Pair from = rowsOf(before.owner);
        Pair to = rowsOf(after.owner);
        move(from.phase, to.phase, before.bytes);
        move(from.all, to.all, before.bytes);
    }

    private static void move(Row from, Row to, long bytes) {
        from.allocated -= bytes;
        from.allocations--;
        to.allocated += bytes;
        to.allocations++;
    }

    /** Layers that allocated something. */
    List<Row> rows() {
        return rows.values().stream().filter(row -> row.allocations > 0).toList();
    }

    private Pair rowsOf(int id) {
        while (byOwner.size() <= id) {
            byOwner.add(null);
        }
        Pair known = byOwner.get(id);
        if (known != null) {
            return known;
        }
        Owner owner = owners.apply(id);
        Key phase = new Key(owner.network(), owner.layer(), owner.phase());
        Key all = new Key(owner.network(), owner.layer(), null);
        Pair pair = new Pair(rows.computeIfAbsent(phase, Row::new), rows.computeIfAbsent(all, Row::new));
        byOwner.set(id, pair);
        return pair;
    }
}
