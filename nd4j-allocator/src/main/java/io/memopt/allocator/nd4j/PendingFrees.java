// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.lang.reflect.Field;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.deallocation.DeallocatableReference;
import org.nd4j.linalg.api.memory.deallocation.DeallocatorService;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Arrays that the Java collector has found dead and that ND4J's deallocator threads have not freed yet. They are freed in no
 * time on an idle machine and some time later on a busy one, which whoever asks what is held has to wait for.
 *
 * <p>Threading: any thread.
 */
public final class PendingFrees {
    private static final @Nullable Field REFERENCES = field();

    private PendingFrees() {}

    /** How many there are now; empty when this version of ND4J does not tell. O(arrays that have memory of their own). */
    public static OptionalInt count() {
        Map<?, ?> references = references();
        if (references == null) {
            return OptionalInt.empty();
        }
        int pending = 0;
        for (Map.Entry<?, ?> each : references.entrySet()) {
            pending +=
                    each.getValue() instanceof DeallocatableReference reference && isPending(each.getKey(), reference)
                            ? 1
                            : 0;
        }
        return OptionalInt.of(pending);
    }

    /** ND4J drops a reference by its name after the free; those of workspaces change their name and stay for ever. */
    @SuppressWarnings("deprecation") // tells only of the way through the queue, which is what is asked
    private static boolean isPending(Object key, DeallocatableReference reference) {
        return reference.refersTo(null) && (reference.isEnqueued() || key.equals(reference.getId()));
    }

    private static @Nullable Map<?, ?> references() {
        try {
            return REFERENCES != null && REFERENCES.get(Nd4j.getDeallocatorService()) instanceof Map<?, ?> map
                    ? map
                    : null;
        } catch (IllegalAccessException e) {
            return null;
        }
    }

    private static @Nullable Field field() {
        try {
            Field field = DeallocatorService.class.getDeclaredField("referenceMap");
            field.setAccessible(true);
            return field;
        } catch (ReflectiveOperationException | RuntimeException e) {
            return null;
        }
    }
}
