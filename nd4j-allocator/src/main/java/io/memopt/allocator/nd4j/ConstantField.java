// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.lang.reflect.Field;

/**
 * Writes fields that are {@code static final}, which reflection refuses. Compiled code may go on with the value before, so the
 * value before must stay usable. Threading: safe.
 */
final class ConstantField {
    private ConstantField() {}

    /**
     * From now on {@code field} reads {@code value}, except in code that was compiled with the value before.
     *
     * @param field static, of a reference type that {@code value} is an instance of
     * @throws ReflectiveOperationException if this JVM does not allow it
     */
    static void set(Field field, Object value) throws ReflectiveOperationException {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field instance = type.getDeclaredField("theUnsafe");
        instance.setAccessible(true);
        Object unsafe = instance.get(null);
        Object base = type.getMethod("staticFieldBase", Field.class).invoke(unsafe, field);
        Object offset = type.getMethod("staticFieldOffset", Field.class).invoke(unsafe, field);
        type.getMethod("putObjectVolatile", Object.class, long.class, Object.class)
                .invoke(unsafe, base, offset, value);
    }
}
