// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.budget;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.recording.ByteSize;

/** A budget that training cannot keep to. Thrown before anything was learnt; the network is as it was. */
public final class BudgetException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final long limitBytes;
    private final long leastBytes;
    private final String how;

    BudgetException(String network, int batch, long limitBytes, long leastBytes, String how, String more) {
        super(network + " cannot be trained with minibatches of " + Count.of(batch, "example") + " within "
                + ByteSize.format(limitBytes) + ": the least budget that can be met is " + ByteSize.format(leastBytes)
                + ", with " + how + ". Give it that much, or train with smaller minibatches." + more);
        this.limitBytes = limitBytes;
        this.leastBytes = leastBytes;
        this.how = how;
    }

    /** The way to train that takes the least. */
    String how() {
        return how;
    }

    /** The budget. */
    public long limitBytes() {
        return limitBytes;
    }

    /** The least budget that the same minibatches can be trained within. */
    public long leastBytes() {
        return leastBytes;
    }
}
