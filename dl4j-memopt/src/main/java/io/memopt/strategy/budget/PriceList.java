// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.analysis.Exactness;
import io.memopt.strategy.Reuse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
     * What does not depend on how activations are kept.
     *
     * @param batch examples of a minibatch
     * @param flat what the network holds for good
     * @param guardBytes what a guarded step keeps; 0 for none, as in Deeplearning4j's own way
     * @param minibatchBytes inputs, labels and masks
     * @param partsAllowed whether a minibatch may be computed in parts
     * @param sums whether gradients are summed even for whole minibatches
     * @param loosest class of exactness allowed
     */
    record Fixed(
            int batch,
            FlatBytes flat,
            long guardBytes,
            long minibatchBytes,
            boolean partsAllowed,
            boolean sums,
            Exactness loosest) {

        /** Bytes of the smallest way to compute whole minibatches in passes that take {@code memory}. */
        long takesWhole(PassMemory memory) {
            return KINDS.stream()
                            .mapToLong(reuse -> memory.bytes(reuse, batch).orElse(Long.MAX_VALUE - always()))
                            .min()
                            .orElseThrow()
                    + always();
        }

        private long always() {
            return unguarded() + guardBytes;
        }

        private long unguarded() {
            return flat.sum() + minibatchBytes + (sums ? flat.gradients() : 0);
        }

        /** Bytes in addition where minibatches are computed in {@code parts}. */
        private long sum(int parts) {
            return parts > 1 && !sums ? flat.gradients() : 0;
        }

        private boolean allows(Way way) {
            return way.parts() == 1
                    || (partsAllowed && way.exactness().compareTo(loosest) <= 0 && way.partOf(batch) >= PassMemory.LOW);
        }
    }

    /**
     * Prices.
     *
     * @param plain of plain training, if known
     * @param memories of ways to keep activations
     */
    static PriceList of(Fixed fixed, Optional<PassMemory> plain, Map<Keep, PassMemory> memories) {
        List<Priced> ways = new ArrayList<>();
        memories.forEach((keep, memory) -> {
            for (int parts : PARTS) {
                for (Reuse reuse : KINDS) {
                    Way way = new Way(keep, parts, reuse);
                    if (fixed.allows(way)) {
                        long rest = fixed.always() + fixed.sum(parts);
                        OptionalLong bytes = memory.bytes(reuse, way.partOf(fixed.batch));
                        bytes.ifPresent(its -> ways.add(new Priced(way, rest + its)));
                    }
                }
            }
        });
        long plainBytes =
                plain.map(its -> its.bytes(Reuse.OFF, fixed.batch).orElse(0)).orElse(0L);
        Priced unchanged = new Priced(new Way(Keep.ALL, 1, Reuse.OFF), fixed.unguarded() + plainBytes);
        return new PriceList(fixed.batch, unchanged, ways);
    }
}
