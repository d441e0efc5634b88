// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.OptionalLong;

/**
 * What a pass over a trace met so far.
 *
 * @param events events handed out
 * @param lostEvents events missing by sequence number: dropped by the recorder or in damaged blocks; those of a truncated
 *     tail are not known
 * @param unknownEvents events of kinds that only a newer version knows; skipped
 * @param corruptBytes damaged bytes skipped
 * @param truncatedAt where the incomplete last block begins; empty when the file ends with a whole block
 * @param ending how the recording ended
 */
public record TraceSummary(
        long events, long lostEvents, long unknownEvents, long corruptBytes, OptionalLong truncatedAt, Ending ending) {

    /** How a recording ended. */
    public enum Ending {
        /** The writer was closed. */
        CLOSED,
        /** The writer stopped at its size limit. */
        LIMIT_REACHED,
        /** No end mark (yet): the JVM was killed, writing failed, or the recording still runs. */
        OPEN
    }

    /** True when every event of the recording was handed out. */
    public boolean isComplete() {
        return ending == Ending.CLOSED && lostEvents == 0 && unknownEvents == 0 && truncatedAt.isEmpty();
    }
}
