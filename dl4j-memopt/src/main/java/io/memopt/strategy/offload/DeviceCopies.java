// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.cuda.CudaCopyLanes;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.pool.CopyFigures;
import io.memopt.allocator.pool.CopyLanes;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The lanes on which arrays go to the host and come back. Threading: safe. */
public final class DeviceCopies {
    private static volatile @Nullable Supplier<CopyLanes> others;

    private DeviceCopies() {}

    /** Whether arrays lie on a device that has lanes. */
    public static boolean areThere() {
        return others != null || Nd4jFacts.isCuda();
    }

    /** Those of the device that the calling thread works with, which there must be. */
    static CopyLanes lanes() {
        Supplier<CopyLanes> opener = others;
        return opener == null ? CudaCopyLanes.ofThread() : opener.get();
    }

    /** What was copied so far on the device that the calling thread works with; nothing where there is none, or no copy was made. */
    public static CopyFigures figures() {
        return areThere() ? lanes().figures() : CopyFigures.NONE;
    }

    /** Has other lanes stand in for those of CUDA, with any backend; null for none. */
    static void standIn(@Nullable Supplier<CopyLanes> opener) {
        others = opener;
    }
}
