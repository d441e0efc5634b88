// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.recording.ByteSize;
import io.memopt.analysis.Exactness;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a {@link VerifyRun} found: results, memory and time together, with what they were measured on.
 *
 * @param environment hardware, versions, network, batch and shape of its data, as name and value
 * @param twin results of plain training against itself and of optimised training against it
 * @param blocks the latter for each block of parameters
 * @param bare plain training that nobody recorded: what recording costs is measured against it
 * @param plain plain training, recorded
 * @param optimised training with what was put on trial
 */
public record Verification(
        Map<String, String> environment,
        TwinResult twin,
        List<BlockDifference> blocks,
        RunCost bare,
        RunCost plain,
        RunCost optimised) {
    private static final int SHOWN = 8;
    private static final double MIB = 1 << 20;

    public Verification {
        environment = Map.copyOf(environment);
        blocks = List.copyOf(blocks);
    }

    /** Time of recording, as share of a step: plain training recorded, by plain training that nobody recorded, less 1. */
    public double overheadShare() {
        return plain.stepMillis() / bare.stepMillis() - 1;
    }

    /** Optimised peak by plain peak. */
    public double peakShare() {
        return (double) optimised.peakBytes() / plain.peakBytes();
    }

    /** Optimised step by plain step, both recorded. */
    public double stepShare() {
        return optimised.stepMillis() / plain.stepMillis();
    }

    /** As {@link TwinResult#requireBitwise()}. */
    public Verification requireBitwise() {
        return require(Exactness.BITWISE, 0);
    }

    /** As {@link TwinResult#require}. */
    public Verification require(Exactness promised, double bound) {
        try {
            twin.require(promised, bound);
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "\n" + this, e);
        }
        return this;
    }

    /**
     * Returns this when the optimised peak is at most so much.
     *
     * @param limit a size such as {@code "200 MiB"}, or a share of the plain peak such as {@code "60 %"}
     * @throws AssertionError if it is more
     */
    public Verification requirePeakAtMost(String limit) {
        long most = limit.contains("%") ? (long) (Amounts.share(limit) * plain.peakBytes()) : Amounts.bytes(limit);
        if (optimised.peakBytes() > most) {
            throw new AssertionError("The optimised peak is " + ByteSize.format(optimised.peakBytes())
                    + ", expected at most " + ByteSize.format(most) + " (" + limit + ").\n" + this);
        }
        return this;
    }

    /**
     * Returns this when an optimised step takes at most so much of a plain one. Say it with room: times of a busy machine vary.
     *
     * @param share e.g. {@code "130 %"}
     * @throws AssertionError if it takes more
     */
    public Verification requireStepAtMost(String share) {
        if (stepShare() > Amounts.share(share)) {
            throw new AssertionError(String.format(
                    Locale.ROOT,
                    "An optimised step takes %.1f ms, a plain one %.1f: %.0f %%, expected at most %s.%n%s",
                    optimised.stepMillis(),
                    plain.stepMillis(),
                    100 * stepShare(),
                    share,
                    this));
        }
        return this;
    }

    /** A report for people. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        new TreeMap<>(environment)
                .forEach((name, value) -> text.append(String.format(Locale.ROOT, "%-12s %s%n", name, value)));
        text.append(String.format(Locale.ROOT, "%-12s %s%n", "plain again", twin.plain()))
                .append(String.format(Locale.ROOT, "%-12s %s%n", "optimised", twin.attached()));
        blocks.stream()
                .filter(block -> block.differing() > 0)
                .sorted(Comparator.comparingDouble(BlockDifference::largest).reversed())
                .limit(SHOWN)
                .forEach(block -> text.append(String.format(
                        Locale.ROOT,
                        "  %-20s %d of %d differ, at most by %.3g (%.3g of the largest)%n",
                        block.block(),
                        block.differing(),
                        block.parameters(),
                        block.largest(),
                        block.relative())));
        text.append(String.format(Locale.ROOT, "%-12s %10s %10s  quartiles%n", "", "peak MiB", "step ms"));
        cost(text, "unrecorded", bare);
        cost(text, "plain", plain);
        cost(text, "optimised", optimised);
        return text.append(String.format(
                        Locale.ROOT,
                        "optimised by plain: peak %.1f %%, step %.1f %%; recording %+.1f %% of a step%n",
                        100 * peakShare(),
                        100 * stepShare(),
                        100 * overheadShare()))
                .toString();
    }

    private static void cost(StringBuilder text, String name, RunCost cost) {
        text.append(String.format(
                Locale.ROOT,
                "%-12s %10s %10.1f  %.1f .. %.1f%n",
                name,
                cost.peakBytes() == 0 ? "" : String.format(Locale.ROOT, "%.1f", cost.peakBytes() / MIB),
                cost.stepMillis(),
                cost.lowerMillis(),
                cost.upperMillis()));
    }
}
