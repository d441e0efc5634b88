// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.cudnn.ConvolutionShape;
import io.memopt.strategy.cudnn.NetworkScratch;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Finds out what scratch memory is worth to the convolutions of a network, within a budget. */
final class ScratchTrial {
    /** What is not known to the byte takes no more than one in so many bytes of a budget. */
    private static final int MARGIN = 64;

    private ScratchTrial() {}

    /**
     * Has convolutions measured with as many examples as training can have at once, each by itself and with what its arrays leave of the
     * budget. Left out are those whose arrays, of which the network has some already, do not fit; and all where not even the smallest part
     * of a minibatch can be trained. There must be no workspaces or arenas.
     *
     * @param memories of passes of the network, which were recorded under a limit of 0
     * @param plain of Deeplearning4j's own passes, likewise
     */
    static ScratchLever of(
            NetworkScratch scratch, Terms terms, Map<PassKind, PassMemory> memories, Optional<PassMemory> plain) {
        int batch = most(terms, memories).orElse(0);
        if (batch > 0) {
            measure(scratch, terms, memories.values(), batch);
        }
        Set<PassMemory> all = new LinkedHashSet<>(memories.values());
        plain.ifPresent(all::add);
        return new ScratchLever(scratch, all, batch > 0 ? batch : terms.fixed().batch());
    }

    /** Examples of the largest part that fits if convolutions take no more scratch memory than they cannot do without. */
    private static Optional<Integer> most(Terms terms, Map<PassKind, PassMemory> memories) {
        return PriceList.waysOf(terms.fixed(), memories, ScratchLever.none()).stream()
                .filter(priced -> priced.bytes() <= terms.limitBytes())
                .map(priced -> priced.way().partOf(terms.fixed().batch()))
                .max(Integer::compare);
    }

    private static void measure(NetworkScratch scratch, Terms terms, Collection<PassMemory> memories, int batch) {
        long room =
                terms.limitBytes() - terms.limitBytes() / MARGIN - terms.fixed().heldBytes();
        Map<ConvolutionShape, Long> needs = needs(memories, batch);
        needs.values().removeIf(bytes -> bytes > room);
        if (!needs.isEmpty()) {
            long arrays = needs.keySet().stream()
                    .mapToLong(NetworkScratch::arrayBytes)
                    .max()
                    .orElseThrow();
            scratch.limit(room - arrays);
            scratch.measure(needs.keySet());
        }
    }

    /** Bytes that each convolution cannot be measured without. */
    private static Map<ConvolutionShape, Long> needs(Collection<PassMemory> memories, int batch) {
        Map<ConvolutionShape, Long> needs = new LinkedHashMap<>();
        for (PassMemory memory : memories) {
            for (ScratchCall call : memory.scratchCalls()) {
                ConvolutionShape shape = call.over(batch);
                needs.merge(shape, NetworkScratch.arrayBytes(shape) + call.leastBytes(batch), Math::max);
            }
        }
        return needs;
    }
}
