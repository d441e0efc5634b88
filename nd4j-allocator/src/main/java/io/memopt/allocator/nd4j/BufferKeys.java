// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Optional;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Finds the ledger's key of an array: the address of the native buffer object behind it. */
public final class BufferKeys {
    private static final MethodType GETTER = MethodType.methodType(Object.class, Object.class);

    private static final ClassValue<Optional<MethodHandle>> OPAQUE = new ClassValue<>() {
        @Override
        protected Optional<MethodHandle> computeValue(Class<?> type) {
            try {
                return Optional.of(MethodHandles.publicLookup()
                        .unreflect(type.getMethod("getOpaqueDataBuffer"))
                        .asType(GETTER));
            } catch (ReflectiveOperationException e) {
                return Optional.empty();
            }
        }
    };

    private BufferKeys() {}

    /** The key of the memory that {@code array} or the array it is a view of owns; 0 when it has none of its own. */
    public static long keyOf(@Nullable INDArray array) {
        if (array == null || array.isEmpty() || array.isAttached()) {
            return 0;
        }
        DataBuffer buffer = array.data();
        DataBuffer root = buffer.originalDataBuffer() == null ? buffer : buffer.originalDataBuffer();
        try {
            Optional<MethodHandle> getter = OPAQUE.get(root.getClass());
            Object opaque = getter.isPresent() ? (Object) getter.get().invokeExact((Object) root) : null;
            return opaque instanceof Pointer pointer ? pointer.address() : 0;
        } catch (Error e) {
            throw e;
        } catch (Throwable e) {
            return 0; // closed
        }
    }
}
