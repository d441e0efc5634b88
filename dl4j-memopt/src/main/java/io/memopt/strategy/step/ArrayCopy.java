// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** A copy of an array outside workspaces, whose memory serves the next copy too. Threading: confined. */
final class ArrayCopy {
    private final @Nullable UnaryOperator<INDArray> maker;
    private @Nullable INDArray copy;
    private boolean held;

    /** In memory. */
    ArrayCopy() {
        this(null);
    }

    /**
     * Where {@code maker} puts a copy, which is the Java garbage collector's when it is no longer needed.
     *
     * @param maker null for memory
     */
    ArrayCopy(@Nullable UnaryOperator<INDArray> maker) {
        this.maker = maker;
    }

    /** Copies {@code array}; forgets what was copied before. Null and empty arrays leave nothing to restore. */
    void take(@Nullable INDArray array) {
        held = false;
        if (array == null || array.isEmpty()) {
            return;
        }
        INDArray into = copy;
        if (into == null || into.length() != array.length() || into.dataType() != array.dataType()) {
            close();
            try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                copy = maker == null ? array.dup() : maker.apply(array);
            }
        } else {
            into.assign(array);
        }
        held = true;
    }

    /** Gives {@code array} the copied values, if there are any; they stay copied. */
    void restore(@Nullable INDArray array) {
        INDArray from = copy;
        if (held && from != null && array != null) {
            array.assign(from);
        }
    }

    void close() {
        INDArray old = copy;
        copy = null;
        held = false;
        if (old != null && maker == null && old.closeable()) {
            old.close();
        }
    }
}
