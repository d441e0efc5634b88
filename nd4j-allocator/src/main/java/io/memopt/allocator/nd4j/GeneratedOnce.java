// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.lang.reflect.Constructor;
import org.jspecify.annotations.Nullable;

/** The constructor of a class that is generated when first needed. Threading: safe. */
final class GeneratedOnce<T> {
    private @Nullable Constructor<? extends T> constructor;

    /** A class, generated. */
    @FunctionalInterface
    interface Generator<T> {
        Class<? extends T> generate() throws ReflectiveOperationException;
    }

    synchronized Constructor<? extends T> get(Generator<T> generator, Class<?>... parameters)
            throws ReflectiveOperationException {
        Constructor<? extends T> known = constructor;
        if (known == null) {
            known = generator.generate().getDeclaredConstructor(parameters);
            known.setAccessible(true);
            constructor = known;
        }
        return known;
    }
}
