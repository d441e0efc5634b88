// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.WorkspaceTable.WorkspaceInfo;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Reads the trace that a {@link TraceWriter} wrote, block by block: memory is bounded by one block (64 KiB) and the
 * definitions. A trace may be read while it is written or after its JVM was killed: reading ends with the last whole block.
 *
 * <p>Events come in the order in which the recorder accepted them; see {@link TraceVisitor} for what that means for times.
 *
 * <p>Threading: one thread at a time.
 */
public final class TraceReader implements AutoCloseable, Iterable<MemoryEvent> {

    /** What to do about damaged blocks. A truncated end is no damage. */
    public enum OnCorruption {
        /** Throw a {@link TraceFormatException}. */
        FAIL,
        /** Go on with the next undamaged block and count what is missing. */
        SKIP
    }

    private static final TraceSummary NOTHING_READ =
            new TraceSummary(0, 0, 0, 0, OptionalLong.empty(), TraceSummary.Ending.OPEN);

    private final TraceInput input;
    private final TraceDefinitions definitions;
    private final boolean skipDamage;
    private @Nullable TraceCursor last;

    /** As {@link #TraceReader(Path, OnCorruption)} with {@link OnCorruption#FAIL}. */
    public TraceReader(Path path) throws IOException {
        this(path, OnCorruption.FAIL);
    }

    /**
     * Opens a trace and reads its header.
     *
     * @throws TraceFormatException if it is no trace, or one of a newer format
     */
    public TraceReader(Path path, OnCorruption onCorruption) throws IOException {
        input = new TraceInput(path);
        definitions = new TraceDefinitions(input.header());
        skipDamage = onCorruption == OnCorruption.SKIP;
    }

    public TraceHeader header() {
        return input.header();
    }

    /**
     * Hands all events to {@code visitor}, without an object for each.
     *
     * @throws TraceFormatException at a damaged block, unless those are skipped
     */
    public TraceSummary read(TraceVisitor visitor) throws IOException {
        TraceCursor cursor = new TraceCursor(input, definitions, skipDamage, visitor);
        last = cursor;
        while (cursor.next()) {
            cursor.current().emit(visitor);
        }
        return cursor.summary();
    }

    /** A new pass from the start. Its methods throw {@link UncheckedIOException}. */
    @Override
    public Iterator<MemoryEvent> iterator() {
        try {
            TraceCursor cursor = new TraceCursor(input, definitions, skipDamage, null);
            last = cursor;
            return new EventIterator(cursor);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What the last pass met so far. */
    public TraceSummary summary() {
        return last == null ? NOTHING_READ : last.summary();
    }

    /** Where the last pass met an incomplete last block; empty when there is none, or not yet. */
    public OptionalLong truncatedAtOffset() {
        return summary().truncatedAt();
    }

    /** The owner with this number; {@link Owner#UNKNOWN} before its definition was read or when that is lost. */
    public Owner owner(int id) {
        return definitions.owner(id);
    }

    /** Owners read so far, by number. */
    public Map<Integer, Owner> owners() {
        return Collections.unmodifiableMap(definitions.owners());
    }

    /** The workspace instance with this number, if its definition was read. */
    public Optional<WorkspaceInfo> workspace(int id) {
        return Optional.ofNullable(definitions.workspaces().get(id));
    }

    /** The place in code with this number; empty when 0 or if its definition was not read. */
    public Optional<String> site(int id) {
        return Optional.ofNullable(definitions.sites().get(id));
    }

    /** Name of a thread when it first acted; empty if unknown. */
    public Optional<String> threadName(long id) {
        return Optional.ofNullable(definitions.threads().get(id));
    }

    @Override
    public void close() throws IOException {
        input.close();
    }

    private static final class EventIterator implements Iterator<MemoryEvent> {
        private final TraceCursor cursor;
        private boolean ahead;

        EventIterator(TraceCursor cursor) {
            this.cursor = cursor;
        }

        @Override
        public boolean hasNext() {
            try {
                ahead = ahead || cursor.next();
                return ahead;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public MemoryEvent next() {
            if (!hasNext()) {
                throw new NoSuchElementException("the trace has no further event");
            }
            ahead = false;
            return cursor.current().event();
        }
    }
}
