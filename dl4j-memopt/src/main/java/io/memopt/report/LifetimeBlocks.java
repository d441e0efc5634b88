// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.MemorySpace;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Writes lifetimes in blocks that the page unpacks only where someone looks. A block holds lifetimes that ended one after
 * the other and are alike in length (three classes), so a stretch of time needs few blocks.
 *
 * <p>Memory: one block for each class.
 */
final class LifetimeBlocks {
    static final int BLOCK = 8192;

    /** Number of events from which on a lifetime is of the next class. */
    private static final long[] CLASSES = {1 << 14, 1 << 19, Long.MAX_VALUE};

    private static final int SPACE_SHIFT = 3;
    private static final int CONTINUED = 1 << 5;

    private record Ended(Lifetime lifetime, long death) {}

    private final Writer out;
    private final ToLongFunction<Lifetime> places;
    private final List<List<Ended>> open = new ArrayList<>();
    private final Columns index = new Columns();
    private final long most;
    private int blocks;
    private long lifetimes;
    private long detailedUntil = Long.MAX_VALUE;

    /**
     * No blocks yet.
     *
     * @param out takes one script element for each block
     * @param places where on the address axis a lifetime is, -1 for nowhere
     * @param most number of lifetimes after which all but the longest are left out
     */
    LifetimeBlocks(Writer out, ToLongFunction<Lifetime> places, long most) {
        this.most = most;
        this.out = out;
        this.places = places;
        for (int i = 0; i < CLASSES.length; i++) {
            open.add(new ArrayList<>());
        }
    }

    /** Takes a lifetime; {@code deathEvent} is the number of the event that ended it, or of the last event. */
    void add(Lifetime lifetime, long death, long deathEvent) {
        int kind = 0;
        while (deathEvent - lifetime.birthEvent > CLASSES[kind]) {
            kind++;
        }
        if (death == Lifetime.NEVER) {
            kind = CLASSES.length - 1;
        }
        if (lifetimes >= most && kind < CLASSES.length - 1) {
            detailedUntil = Math.min(detailedUntil, Math.max(0, lifetime.birth - 1));
            return;
        }
        List<Ended> block = open.get(kind);
        block.add(new Ended(lifetime, death));
        lifetimes++;
        if (block.size() == BLOCK) {
            write(block);
        }
    }

    /** Writes the last blocks. */
    void complete() {
        open.forEach(this::write);
    }

    int blocks() {
        return blocks;
    }

    /** Up to here no lifetime was left out; -1 when none was at all. */
    long detailedUntil() {
        return detailedUntil == Long.MAX_VALUE ? -1 : detailedUntil;
    }

    long lifetimes() {
        return lifetimes;
    }

    /** For each block its first birth, last death (0: none) and number of lifetimes. */
    String packIndex() {
        return index.pack();
    }

    private void write(List<Ended> block) {
        if (block.isEmpty()) {
            return;
        }
        block.sort(Comparator.comparingLong(ended -> ended.lifetime.birth));
        boolean endless = block.stream().anyMatch(ended -> ended.death == Lifetime.NEVER);
        long last = block.stream().mapToLong(ended -> ended.death).max().orElseThrow();
        index.add(block.get(0).lifetime.birth).add(endless ? 0 : last).add(block.size());
        try {
            out.write("<script type=\"text/plain\" id=\"b" + blocks++ + "\">" + pack(block) + "</script>\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        block.clear();
    }

    private String pack(List<Ended> block) {
        Columns columns = new Columns();
        long before = 0;
        for (Ended ended : block) {
            columns.add(ended.lifetime.birth - before);
            before = ended.lifetime.birth;
        }
        for (Ended ended : block) {
            columns.add(ended.death == Lifetime.NEVER ? 0 : ended.death - ended.lifetime.birth);
        }
        before = 0;
        for (Ended ended : block) {
            long place = places.applyAsLong(ended.lifetime);
            columns.addSigned(place - before);
            before = place;
        }
        for (Ended ended : block) {
            columns.add(ended.lifetime.bytes);
        }
        for (Ended ended : block) {
            columns.add(ended.lifetime.owner);
        }
        for (Ended ended : block) {
            columns.add(ended.lifetime.workspace);
        }
        for (Ended ended : block) {
            columns.addByte(flags(ended.lifetime));
        }
        return columns.pack();
    }

    private static int flags(Lifetime lifetime) {
        MemorySpace space = lifetime.space;
        int continued = lifetime.allocated < lifetime.birth ? CONTINUED : 0;
        return lifetime.kind.ordinal() | space.ordinal() << SPACE_SHIFT | continued;
    }
}
