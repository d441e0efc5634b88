// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.analysis.Exactness;
import io.memopt.strategy.Reuse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * What every way to train takes, for one network and one size of minibatch:
 *
 * <pre>
 *   parameters + gradients + updater state + minibatch (+ sum of gradients, where there are several)
 *     (+ copies of a guard)
 *     + workspaces or arena, and arrays outside them, of the largest part of the minibatch
 * </pre>
 *
 * @param batch examples of a minibatch
 * @param plain Deeplearning4j's own way
 * @param ways all others that are allowed and whose bytes are known
 */
record PriceList(int batch, Priced plain, List<Priced> ways) {
    /** Parts that minibatches are computed in, as far as they have so many examples. */
    private static final int[] PARTS = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};

    /** Sized arenas take no less than planned ones, and no less time. */
    private static final List<Reuse> KINDS = List.of(Reuse.RELEASED, Reuse.PLANNED);

    PriceList {
        ways = List.copyOf(ways);
    }

    /**
     * Prices.
     *
     * @param memories of each way to keep activations that can be told
     * @param flat what the network holds for good
     * @param guardBytes what a guarded step keeps; 0 for none, as in Deeplearning4j's own way
     * @param minibatchBytes inputs, labels and masks
     * @param partsAllowed whether a minibatch may be computed in parts
     * @param sums whether gradients are summed even for whole minibatches
     * @param loosest class of exactness allowed
     */
    static PriceList of(
            int batch,
            Map<Keep, PassMemory> memories,
            FlatBytes flat,
            long guardBytes,
            long minibatchBytes,
            boolean partsAllowed,
            boolean sums,
            Exactness loosest) {
        List<Priced> ways = new ArrayList<>();
        long always = flat.sum() + minibatchBytes + (sums ? flat.gradients() : 0);
        memories.forEach((keep, memory) -> {
            for (int parts : PARTS) {
                Way whole = new Way(keep, parts, Reuse.RELEASED);
                int part = whole.partOf(batch);
                boolean allowed =
                        parts == 1 || (partsAllowed && whole.exactness().compareTo(loosest) <= 0);
                if (allowed && (parts == 1 || part >= PassMemory.LOW)) {
                    long sum = parts > 1 && !sums ? flat.gradients() : 0;
                    long rest = always + guardBytes + sum;
                    for (Reuse reuse : KINDS) {
                        OptionalLong bytes = memory.bytes(reuse, part);
                        bytes.ifPresent(its -> ways.add(new Priced(new Way(keep, parts, reuse), rest + its)));
                    }
                }
            }
        });
        PassMemory plain = memories.get(Keep.ALL);
        long plainBytes = plain == null ? 0 : plain.bytes(Reuse.OFF, batch).orElse(0);
        return new PriceList(batch, new Priced(new Way(Keep.ALL, 1, Reuse.OFF), always + plainBytes), ways);
    }
}
