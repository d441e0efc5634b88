// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Says of a thread that the host memory which it asks for now is a mirror of device memory, made by a workspace for its own
 * sake. What anyone else asks for stays page-locked.
 */
final class MirrorScope {
    private static final ThreadLocal<boolean[]> inside = ThreadLocal.withInitial(() -> new boolean[1]);

    private MirrorScope() {}

    static boolean isInside() {
        return inside.get()[0];
    }

    /** Runs {@code work}, whose host memory is a mirror. */
    static <T extends @Nullable Object> T run(Supplier<T> work) {
        boolean[] flag = inside.get();
        boolean before = flag[0];
        flag[0] = true;
        try {
            return work.get();
        } finally {
            flag[0] = before;
        }
    }
}
