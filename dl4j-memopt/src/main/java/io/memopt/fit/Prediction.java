// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.recording.ByteSize;

/**
 * What one batch size takes; reserved bytes, i.e. parameters, gradients, updater state, the batch itself, workspace blocks
 * with spills, and detached arrays.
 *
 * @param batch items in a batch
 * @param peak fullest moment from the first iteration on; in the first iterations arrays spill, because workspaces do not
 *     know their size yet
 * @param settled fullest moment of an iteration once workspaces know it
 * @param settledAfter iterations until then
 * @param garbageBytes detached arrays that each iteration leaves to the Java garbage collector. Both peaks contain those
 *     of one iteration, so each further iteration without a collection adds as much
 * @param culprit who needs most
 */
public record Prediction(
        int batch, Composition peak, Composition settled, int settledAfter, long garbageBytes, Culprit culprit) {

    /** Bytes that the process must be able to reserve. */
    public long peakBytes() {
        return peak.bytes();
    }

    /** True when the peak stays within {@code budgetBytes}. */
    public boolean fits(long budgetBytes) {
        return peakBytes() <= budgetBytes;
    }

    /** Both peaks, the culprit and what to do, in a line. */
    @Override
    public String toString() {
        return "batch " + batch + ": peak " + ByteSize.format(peakBytes()) + ", " + ByteSize.scaled(settled.bytes())
                + " after " + Count.of(settledAfter, "iteration") + "; " + culprit.text() + ". " + culprit.fix();
    }
}
