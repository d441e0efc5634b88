// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** A running sum of flat gradients outside workspaces; its array is kept for the next sum. Threading: confined. */
final class GradientSum {
    private @Nullable INDArray sum;
    private final ArrayCopy marked = new ArrayCopy();
    private boolean empty = true;
    private boolean markedEmpty = true;

    /** Adds {@code gradients}, of the same length each time; they are copied. */
    void add(INDArray gradients) {
        INDArray into = sum;
        if (into == null || into.length() != gradients.length() || into.dataType() != gradients.dataType()) {
            close();
            try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                sum = gradients.dup();
            }
        } else if (empty) {
            into.assign(gradients);
        } else {
            into.addi(gradients);
        }
        empty = false;
    }

    /** Makes {@code gradients} the sum of all that was added and itself. */
    void addTo(INDArray gradients) {
        INDArray from = sum;
        if (from != null && !empty) {
            gradients.addi(from);
        }
    }

    void clear() {
        empty = true;
    }

    /** Remembers the sum, for {@link #rollBack}. Takes a copy unless it is empty, as it is when minibatches are not gathered. */
    void mark() {
        marked.take(empty ? null : sum);
        markedEmpty = empty;
    }

    void rollBack() {
        marked.restore(sum);
        empty = markedEmpty;
    }

    private void close() {
        INDArray old = sum;
        sum = null;
        if (old != null && old.closeable()) {
            old.close();
        }
    }
}
