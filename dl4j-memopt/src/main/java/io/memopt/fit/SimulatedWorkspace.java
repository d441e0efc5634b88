// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.Owner;
import java.util.ArrayList;
import java.util.List;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;

/**
 * A workspace without memory: sizes itself as ND4J's does (Nd4jWorkspace, reset when the scope is left), from the sizes of the
 * arrays alone. Not thread-safe.
 */
final class SimulatedWorkspace {
    /** ND4J adds this to every block, see Nd4jWorkspace.SAFETY_OFFSET. */
    private static final long SAFETY_OFFSET = 1024;

    private final WorkspaceRules rules;
    private final long alignment;
    private long size;
    private long offset;
    private long spilled;
    private long cycleBytes;
    private long fullestBytes;
    private long scopes;
    private boolean marginAdded;
    private boolean initialised;
    private final List<Held> cycle = new ArrayList<>();
    private List<Held> fullest = List.of();

    /** One array of a scope; a spilled one has memory of its own. */
    record Held(Owner owner, long bytes, boolean spilled) {}

    SimulatedWorkspace(WorkspaceRules rules, long alignment) {
        this.rules = rules;
        this.alignment = alignment;
        this.size = rules.initialBytes();
        addMargin();
        this.initialised = size > 0;
    }

    void enter() {
        offset = 0;
        spilled = 0;
        cycleBytes = 0;
        cycle.clear();
    }

    void array(Owner owner, long requested) {
        long rounded = (requested + alignment - 1) / alignment * alignment;
        boolean fits = offset + rounded <= size;
        if (fits) {
            offset += rounded;
        } else {
            spilled += rounded;
        }
        cycleBytes += rounded;
        cycle.add(new Held(owner, rounded, !fits));
    }

    void close() {
        scopes++;
        if (cycleBytes > fullestBytes) {
            fullestBytes = cycleBytes;
            fullest = List.copyOf(cycle);
        }
        boolean learns = rules.learning() != LearningPolicy.NONE && fullestBytes > 0;
        if (learns) {
            spilled = 0;
            boolean first = rules.learning() == LearningPolicy.OVER_TIME ? scopes == rules.cycles() : size == 0;
            boolean again = size > 0 && cycleBytes > 0 && rules.grows();
            if (first || again) {
                initialise();
            }
        }
        cycleBytes = 0;
        offset = 0;
    }

    private void initialise() {
        boolean tooSmall = size < Math.max(fullestBytes, cycleBytes);
        if (tooSmall && rules.grows() && (rules.maxBytes() == 0 || fullestBytes < rules.maxBytes())) {
            size = 0;
            initialised = false;
        }
        if (initialised) {
            return;
        }
        size = rules.maxBytes() > 0 ? Math.min(fullestBytes, rules.maxBytes()) : fullestBytes;
        addMargin();
        size = Math.max(size, rules.minBytes());
        if (rules.maxBytes() > 0) {
            size = Math.min(size, rules.maxBytes());
        }
        initialised = size > 0;
    }

    /** ND4J adds the margin once in the life of a workspace; later growth is to the byte. */
    private void addMargin() {
        if (!marginAdded && rules.margin() > 0 && size > 0) {
            size += (long) (size * rules.margin());
            marginAdded = true;
        }
    }

    /** Bytes of the block, 0 while there is none. */
    long blockBytes() {
        return size == 0 ? 0 : size + SAFETY_OFFSET;
    }

    /** Bytes of arrays that did not fit the block and hold memory of their own now. */
    long spilledBytes() {
        return spilled;
    }

    /** True when the block serves every scope seen so far, or never will. */
    boolean isSettled() {
        boolean never = rules.learning() == LearningPolicy.NONE
                || (rules.learning() == LearningPolicy.OVER_TIME && size == 0 && scopes > rules.cycles());
        return size >= fullestBytes || never;
    }

    /** Arrays of the fullest scope, which decides the size of the block. */
    List<Held> fullestScope() {
        return fullest;
    }

    /** The arrays behind {@link #spilledBytes()}. */
    List<Held> spilledArrays() {
        return spilled == 0 ? List.of() : cycle.stream().filter(Held::spilled).toList();
    }
}
