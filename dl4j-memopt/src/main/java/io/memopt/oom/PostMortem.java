// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import io.memopt.allocator.recording.FailureMoment;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Why memory ran out, and what to do. {@link #toString()} is for people, {@link #toJson()} the same for programs.
 *
 * @param failure what was thrown, and the causes of it
 * @param kind what its texts say
 * @param diagnosis the class of the cause
 * @param moment the books when memory was refused, if ND4J was
 * @param phase what the failed thread did, in words
 * @param batch examples in the minibatch, if known
 * @param largestBatch most examples that are predicted to fit; 0 for none
 * @param state who holds memory now
 * @param growth how what is held went
 * @param remedies best first
 */
public record PostMortem(
        String failure,
        Exhaustion kind,
        Diagnosis diagnosis,
        Optional<FailureMoment> moment,
        String phase,
        OptionalInt batch,
        OptionalInt largestBatch,
        MemoryState state,
        Evidence.Trend growth,
        List<Remedy> remedies) {

    public PostMortem {
        remedies = List.copyOf(remedies);
    }

    /** The layer that asked; empty when none did. */
    public String layer() {
        return moment.map(its -> its.owner().layer()).orElse("");
    }

    /** One JSON object; numbers are plain, absent figures are null. */
    public String toJson() {
        return PostMortemJson.render(this);
    }

    @Override
    public String toString() {
        return PostMortemText.render(this);
    }
}
