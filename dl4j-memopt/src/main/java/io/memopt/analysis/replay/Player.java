// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

import io.memopt.analysis.LiveSet;

/** Hears of the arrays and blocks of one space in order of time, and becomes a row. Threading: confined. */
interface Player {

    /**
     * Something began in any space, told before {@link #began}.
     *
     * @param ofSpace whether it is in the space that is played
     */
    default void born(LiveSet live, int slot, boolean ofSpace) {}

    /**
     * Something began.
     *
     * @param array whether it is an array, not a workspace block
     * @param outlives whether it lives on after its iteration
     */
    void began(LiveSet live, int slot, boolean array, boolean outlives);

    /** Its last use is known, told before its end; {@code span} as in {@code MemoryEvent.LastUse}. */
    default void lastUsed(int slot, long span) {}

    /** It ended; the slot is still readable. */
    void ended(LiveSet live, int slot, boolean array);

    /** Streams are idle. */
    default void iterationEnded() {}

    /** The row, after everything was heard. */
    ReplayRow row(boolean stepless);
}
