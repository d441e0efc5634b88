// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.strategy.Reuse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;

/**
 * What every way to train takes, for one network and one size of minibatch:
 *
 * <pre>
 *   parameters + gradients + updater state + minibatch (+ what helpers keep) (+ sum of gradients, where there are several)
 *     (- updater state, where that is offloaded) (+ copies of a guard) (+ a copy in half precision)
 *     + some small arrays + workspaces or arena, and arrays outside them, of the largest part of the minibatch
 *     (+ scratch memory of its convolutions that does not lie in the arena, and at least what one cannot do without)
 * </pre>
 *
 * Where sequences may come in other lengths, planned ways take no less than a few examples of another length do when they are rehearsed
 * in the midst of training.
 *
 * @param batch examples of a minibatch
 * @param plain Deeplearning4j's own way
 * @param ways all others that are allowed and whose bytes are known
 */
record PriceList(int batch, Priced plain, List<Priced> ways) {
    /** What ND4J makes of small arrays, once and for good or until the collector comes; a few hundred bytes were seen. */
    private static final long SMALL_BYTES = 4096;

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
     * @param copyBytes parameters and gradients of the copy that computes in another precision
     * @param guardBytes what a guarded step keeps; 0 for none, as in Deeplearning4j's own way
     * @param fileGuardBytes the same where the updater's state, and with it the copy that is kept of it, is offloaded
     * @param minibatchBytes inputs, labels and masks, and what helpers of layers keep from pass to pass
     * @param partsAllowed whether a minibatch may be computed in parts
     * @param fileAllowed whether the updater's state may be offloaded
     * @param sums whether gradients are summed even for whole minibatches
     * @param sequences whether minibatches may come in other lengths
     */
    record Fixed(
            int batch,
            FlatBytes flat,
            long copyBytes,
            long guardBytes,
            long fileGuardBytes,
            long minibatchBytes,
            boolean partsAllowed,
            boolean fileAllowed,
            boolean sums,
            boolean sequences) {

        /** Bytes of the smallest way to compute whole minibatches by passes of {@code kind}, which take {@code memory}. */
        long takesWhole(PassKind kind, PassMemory memory) {
            long always = always(kind, fileAllowed);
            return KINDS.stream()
                            .mapToLong(reuse -> passBytes(memory, reuse, batch).orElse(Long.MAX_VALUE / 2))
                            .min()
                            .orElseThrow()
                    + memory.leastScratchBytes(batch)
                    + always;
        }

        /** Bytes of workspaces or arena, and of arrays beside them, for {@code part} examples at once. */
        private OptionalLong passBytes(PassMemory memory, Reuse reuse, int part) {
            OptionalLong own = memory.bytes(reuse, part);
            return sequences && reuse == Reuse.PLANNED && own.isPresent()
                    ? OptionalLong.of(Math.max(own.getAsLong(), rehearsalBytes(memory)))
                    : own;
        }

        /** Without a plan, and with the gradients kept that passes under the plan are compared with. */
        private long rehearsalBytes(PassMemory memory) {
            return memory.bytes(Reuse.RELEASED, PassMemory.HIGH).orElse(0) + flat.gradients();
        }

        /**
         * Bytes while a plan for passes that take {@code memory} is rehearsed for a decision: without the plan, then under it with a copy
         * of the gradients, before there is a state of the updater.
         */
        long takesRehearsal(PassMemory memory) {
            long without = memory.bytes(Reuse.RELEASED, PassMemory.HIGH).orElse(0);
            long under = memory.bytes(Reuse.PLANNED, PassMemory.HIGH).orElse(0) + flat.gradients();
            return heldBytes() + Math.max(without, under) + SMALL_BYTES;
        }

        /** Bytes, at most, while passes of a copy in another precision are tried that take no more than {@code memory}. */
        long takesTrial(PassMemory memory) {
            return flat.parameters()
                    + flat.gradients()
                    + copyBytes
                    + minibatchBytes
                    + memory.bytes(Reuse.RELEASED, PassMemory.HIGH).orElse(0)
                    + memory.leastScratchBytes(PassMemory.HIGH);
        }

        /** Bytes that are there before a way is chosen. */
        long heldBytes() {
            return flat.parameters() + flat.gradients() + minibatchBytes;
        }

        private long always(PassKind kind, boolean stateInFile) {
            return unguarded()
                    - (stateInFile ? flat.updater() : 0)
                    + (stateInFile ? fileGuardBytes : guardBytes)
                    + (kind.mixes() ? copyBytes : 0);
        }

        private long unguarded() {
            return flat.parameters()
                    + flat.gradients()
                    + flat.updater()
                    + minibatchBytes
                    + SMALL_BYTES
                    + (sums ? flat.gradients() : 0);
        }

        /** Bytes in addition where minibatches are computed in {@code parts}. */
        private long sum(int parts) {
            return parts > 1 && !sums ? flat.gradients() : 0;
        }

        private boolean allows(Way way) {
            boolean parts = way.parts() == 1 || (partsAllowed && way.partOf(batch) >= PassMemory.LOW);
            return parts && (fileAllowed || !way.stateInFile());
        }
    }

    /**
     * Prices.
     *
     * @param plainKind of Deeplearning4j's own passes
     * @param plain what those take, if known
     * @param memories of all other passes
     * @param scratch that convolutions may have
     */
    static PriceList of(
            Fixed fixed,
            PassKind plainKind,
            Optional<PassMemory> plain,
            Map<PassKind, PassMemory> memories,
            ScratchLever scratch) {
        long limit = scratch.limits().get(0);
        long beside = plain.map(its -> scratch.besideBytes(its, Reuse.OFF, fixed.batch, limit))
                .orElse(0L);
        Way own = new Way(plainKind, 1, false, Reuse.OFF).withScratch(limit, beside);
        long passes =
                plain.map(its -> its.bytes(own.reuse(), fixed.batch).orElse(0)).orElse(0L);
        Priced unchanged = new Priced(own, fixed.unguarded() + passes + beside);
        return new PriceList(fixed.batch, unchanged, waysOf(fixed, memories, scratch));
    }

    /** All that are allowed and whose bytes are known. */
    static List<Priced> waysOf(Fixed fixed, Map<PassKind, PassMemory> memories, ScratchLever scratch) {
        List<Priced> ways = new ArrayList<>();
        memories.forEach((kind, memory) -> {
            for (int parts : parts(fixed.batch)) {
                for (Reuse reuse : KINDS) {
                    ways.addAll(priced(fixed, memory, scratch, new Way(kind, parts, false, reuse)));
                    ways.addAll(priced(fixed, memory, scratch, new Way(kind, parts, true, reuse)));
                }
            }
        });
        return ways;
    }

    /** Numbers of parts that minibatches are computed in: 1, 2, 3, 4, 6, 8, 12 and so on, as far as no part is smaller for it. */
    static int[] parts(int batch) {
        int most = Math.max(1, batch / PassMemory.LOW);
        IntStream powers = IntStream.iterate(1, power -> power <= most, power -> 2 * power);
        return IntStream.concat(powers.flatMap(power -> IntStream.of(power, power + power / 2)), IntStream.of(most))
                .map(about -> ceil(batch, ceil(batch, about)))
                .sorted()
                .distinct()
                .toArray();
    }

    private static int ceil(int examples, int parts) {
        return (examples + parts - 1) / parts;
    }

    /** One for each limit on scratch memory, or none. */
    private static List<Priced> priced(Fixed fixed, PassMemory memory, ScratchLever scratch, Way way) {
        if (!fixed.allows(way)) {
            return List.of();
        }
        long rest = fixed.always(way.pass(), way.stateInFile()) + fixed.sum(way.parts());
        OptionalLong bytes = fixed.passBytes(memory, way.reuse(), way.partOf(fixed.batch));
        return bytes.isEmpty()
                ? List.of()
                : scratch.limits().stream()
                        .map(limit -> {
                            long beside = scratch.besideBytes(memory, way.reuse(), way.partOf(fixed.batch), limit);
                            return new Priced(way.withScratch(limit, beside), rest + bytes.getAsLong() + beside);
                        })
                        .toList();
    }
}
