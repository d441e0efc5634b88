// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.recording.ThreadContext;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Says of a thread that the host memory which it asks for now is a mirror of device memory, made by a workspace for its own
 * sake. What anyone else asks for stays page-locked.
 */
final class MirrorScope {
    private MirrorScope() {}

    static boolean isInside() {
        return ThreadContext.current().isMirroring();
    }

    /** Runs {@code work}, whose host memory is a mirror. */
    static <T extends @Nullable Object> T run(Supplier<T> work) {
        ThreadContext thread = ThreadContext.current();
        boolean before = thread.isMirroring();
        thread.mirroring(true);
        try {
            return work.get();
        } finally {
            thread.mirroring(before);
        }
    }
}
