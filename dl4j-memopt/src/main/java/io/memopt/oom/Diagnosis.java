// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Count;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.FailureMoment;
import java.util.Locale;

/**
 * The class of a failure's cause and the numbers that decided it. The first rule that applies decides:
 *
 * <ol>
 *   <li>a setting's own text, e.g. of {@code -Xmx};
 *   <li>a single request that exceeds all memory: capacity;
 *   <li>growth over at least {@value #MIN_ITERATIONS} iterations that makes up the request and a quarter of what is held;
 *   <li>holes in workspaces that together exceed the request: fragmentation;
 *   <li>working memory that, with the request, is half of everything: a spike;
 *   <li>a limit of this library, below what the system could hand out;
 *   <li>other processes with more than half of the memory;
 *   <li>capacity.
 * </ol>
 *
 * @param why a sentence with the numbers
 */
public record Diagnosis(Cause cause, String why) {
    static final int MIN_ITERATIONS = 8;
    private static final double GROWTH_SHARE = 0.25;
    private static final double SPIKE_SHARE = 0.5;
    private static final double OTHERS_SHARE = 0.5;

    /** What {@code evidence} says. */
    public static Diagnosis of(Evidence evidence) {
        if (evidence.kind() != Exhaustion.NATIVE) {
            return new Diagnosis(Cause.LIMIT_SETTING, "the failure itself names a limit: " + evidence.kind());
        }
        return evidence.moment()
                .map(moment -> of(evidence, moment))
                .orElseGet(() -> new Diagnosis(
                        Cause.CAPACITY, "the system refused memory for something that ND4J did not ask for"));
    }

    private static Diagnosis of(Evidence evidence, FailureMoment moment) {
        long asked = moment.requestedBytes();
        long held = moment.reservedBytes();
        if (evidence.totalBytes().isPresent() && asked > evidence.totalBytes().getAsLong()) {
            return new Diagnosis(
                    Cause.CAPACITY,
                    "one request of " + ByteSize.format(asked) + " exceeds all memory, "
                            + ByteSize.format(evidence.totalBytes().getAsLong()));
        }
        Evidence.Trend trend = evidence.growth();
        if (trend.iterations() >= MIN_ITERATIONS
                && trend.bytesPerIteration() > 0
                && trend.grownBytes() >= asked
                && trend.grownBytes() >= GROWTH_SHARE * held) {
            return new Diagnosis(
                    Cause.GROWTH,
                    "what is held grew by " + ByteSize.scaled((long) trend.bytesPerIteration())
                            + " with each of the last " + Count.of(trend.iterations(), "iteration") + ", by "
                            + ByteSize.format(trend.grownBytes()) + " together");
        }
        return ofMoment(evidence, moment);
    }

    private static Diagnosis ofMoment(Evidence evidence, FailureMoment moment) {
        long asked = moment.requestedBytes();
        long holes = moment.blocks().stream()
                .mapToLong(FailureMoment.Block::holeBytes)
                .sum();
        if (holes >= asked) {
            return new Diagnosis(
                    Cause.FRAGMENTATION,
                    "workspaces held " + ByteSize.format(holes) + " that no array used, more than the "
                            + ByteSize.format(asked) + " asked for, but each can use its own block only");
        }
        long scratch = moment.inUse().getOrDefault(Category.WORKING_MEMORY, 0L)
                + moment.inUse().getOrDefault(Category.HELPER_SCRATCH, 0L);
        Category itsCategory = moment.owner().category();
        boolean isScratch = itsCategory == Category.WORKING_MEMORY || itsCategory == Category.HELPER_SCRATCH;
        if (isScratch && scratch + asked >= SPIKE_SHARE * (moment.reservedBytes() + asked)) {
            return new Diagnosis(
                    Cause.SCRATCH_SPIKE,
                    "working memory is " + percent(scratch + asked, moment.reservedBytes() + asked) + " of "
                            + ByteSize.scaled(moment.reservedBytes() + asked) + ", this request included");
        }
        return ofMachine(evidence, moment);
    }

    private static Diagnosis ofMachine(Evidence evidence, FailureMoment moment) {
        long asked = moment.requestedBytes();
        if (evidence.limitBytes().isPresent() && evidence.availableBytes().orElse(Long.MAX_VALUE) >= asked) {
            return new Diagnosis(
                    Cause.LIMIT_SETTING,
                    "the limit of " + ByteSize.format(evidence.limitBytes().getAsLong())
                            + " was met; the system could still hand out "
                            + (evidence.availableBytes().isPresent()
                                    ? ByteSize.scaled(evidence.availableBytes().getAsLong())
                                    : "more"));
        }
        if (evidence.totalBytes().isPresent()
                && evidence.availableBytes().isPresent()
                && evidence.residentBytes().isPresent()) {
            long total = evidence.totalBytes().getAsLong();
            long others = total
                    - evidence.availableBytes().getAsLong()
                    - evidence.residentBytes().getAsLong();
            if (others > OTHERS_SHARE * total) {
                return new Diagnosis(
                        Cause.OTHER_PROCESS,
                        "other processes hold about " + ByteSize.scaled(others) + " of " + ByteSize.scaled(total));
            }
        }
        return new Diagnosis(
                Cause.CAPACITY,
                ByteSize.format(moment.reservedBytes()) + " were held, and " + ByteSize.format(asked)
                        + " more asked for");
    }

    private static String percent(long part, long whole) {
        return String.format(Locale.ROOT, "%.0f %%", 100.0 * part / Math.max(1, whole));
    }
}
