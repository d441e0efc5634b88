// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.ScratchBudget;
import java.util.List;

/**
 * What the library does for one network.
 *
 * @param library and device, e.g. {@code cuDNN 91900 on NVIDIA H200}
 * @param scratchBytes scratch memory held now, for all networks together
 * @param rows passes seen so far, in the order of layers; those that went to the built-in path are missing
 * @param front least time of all those passes against scratch memory, from times that were measured; empty without
 * @param notes what went to the built-in path and why, each once
 */
public record ConvolutionReport(
        String library,
        long scratchBytes,
        List<ConvolutionRow> rows,
        List<ScratchBudget.Choice> front,
        List<String> notes) {
    public ConvolutionReport {
        rows = List.copyOf(rows);
        front = List.copyOf(front);
        notes = List.copyOf(notes);
    }
}
