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
        return new RecordedLanes(opener == null ? CudaCopyLanes.ofThread() : opener.get());
    }

    /** What was copied so far by all of this process; nothing where there is no device. */
    public static CopyFigures figures() {
        Supplier<CopyLanes> opener = others;
        if (opener != null) {
            return opener.get().figures();
        }
        return Nd4jFacts.isCuda() ? CudaCopyLanes.figuresOfAll() : CopyFigures.NONE;
    }

    /** Has other lanes stand in for those of CUDA, with any backend; null for none. */
    static void standIn(@Nullable Supplier<CopyLanes> opener) {
        others = opener;
    }
}
