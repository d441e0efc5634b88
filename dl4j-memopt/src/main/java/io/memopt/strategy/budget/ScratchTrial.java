// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.cudnn.ConvolutionShape;
import io.memopt.strategy.cudnn.NetworkScratch;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Finds out what scratch memory is worth to the convolutions of a network, within a budget. */
final class ScratchTrial {
    /** What is not known to the byte takes no more than one in so many bytes of a budget. */
    private static final int MARGIN = 64;

    private ScratchTrial() {}

    /**
     * Has convolutions measured with as many examples as training can have at once, each by itself and with what its arrays leave of the
     * budget; nothing where not even the smallest part of a minibatch can be trained. There must be no workspaces or arenas.
     *
     * @param memories of passes of the network, which were recorded under a limit of 0
     */
    static ScratchLever of(NetworkScratch scratch, Terms terms, Map<PassKind, PassMemory> memories) {
        int batch = most(terms, memories).orElse(0);
        if (batch > 0) {
            measure(scratch, terms, memories, batch);
        }
        return new ScratchLever(
                scratch, memories.values(), batch > 0 ? batch : terms.fixed().batch());
    }

    /** Examples of the largest part that fits if convolutions take no scratch memory. */
    private static Optional<Integer> most(Terms terms, Map<PassKind, PassMemory> memories) {
        return PriceList.waysOf(terms.fixed(), memories, ScratchLever.none()).stream()
                .filter(priced -> priced.bytes() <= terms.limitBytes())
                .map(priced -> priced.way().partOf(terms.fixed().batch()))
                .max(Integer::compare);
    }

    private static void measure(NetworkScratch scratch, Terms terms, Map<PassKind, PassMemory> memories, int batch) {
        Set<ConvolutionShape> shapes = memories.values().stream()
                .flatMap(memory -> memory.scratchCalls().stream())
                .map(call -> ScratchLever.over(call, batch))
                .collect(Collectors.toSet());
        long arrays =
                shapes.stream().mapToLong(NetworkScratch::arrayBytes).max().orElse(0);
        long room =
                terms.limitBytes() - terms.limitBytes() / MARGIN - terms.fixed().heldBytes() - arrays;
        scratch.limit(Math.max(0, room), Math.max(0, room));
        scratch.measure(shapes);
    }
}
