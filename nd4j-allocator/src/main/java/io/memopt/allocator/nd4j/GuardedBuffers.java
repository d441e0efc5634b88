// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.use.UseBook;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.MethodCall;
import net.bytebuddy.matcher.ElementMatchers;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.factory.DataBufferFactory;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts a {@link GuardedBufferFactory} into ND4J and takes it out again. Host arrays only: on CUDA an element is read from a
 * copy that is made when asked for. Buffers made in between stay guarded until Java drops them.
 *
 * <p>Threading: under the monitor of {@link MemoryHooks}.
 */
final class GuardedBuffers {
    private static final Logger log = LoggerFactory.getLogger(GuardedBuffers.class);
    private static @Nullable Constructor<? extends GuardedBufferFactory> generated;

    private GuardedBuffers() {}

    /** Guards workspace arrays made from now on. A failure is told: single elements are then not seen. */
    static void install(UseBook book) {
        if (Nd4jFacts.isCuda()) {
            return;
        }
        try {
            Field field = field();
            if (field.get(null) instanceof DataBufferFactory stock && !(stock instanceof GuardedBufferFactory)) {
                field.set(null, constructor().newInstance(stock, book));
            }
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            log.warn("Single elements that Java code reads are not seen as uses of their arrays: {}", e.toString());
        }
    }

    /** Gives ND4J its own factory back. */
    static void uninstall() {
        try {
            Field field = field();
            if (field.get(null) instanceof GuardedBufferFactory ours) {
                field.set(null, ours.target());
            }
        } catch (ReflectiveOperationException | RuntimeException e) {
            log.warn("ND4J's buffers go on to tell of element accesses: {}", e.toString());
        }
    }

    private static Field field() throws ReflectiveOperationException {
        Field field = Nd4j.class.getDeclaredField("DATA_BUFFER_FACTORY_INSTANCE");
        field.setAccessible(true);
        return field;
    }

    private static synchronized Constructor<? extends GuardedBufferFactory> constructor()
            throws ReflectiveOperationException {
        Constructor<? extends GuardedBufferFactory> known = generated;
        if (known == null) {
            known = generate().getDeclaredConstructor(DataBufferFactory.class, UseBook.class);
            known.setAccessible(true);
            generated = known;
        }
        return known;
    }

    private static Class<? extends GuardedBufferFactory> generate() throws ReflectiveOperationException {
        Method guard = GuardedBufferFactory.class.getDeclaredMethod("guard", DataBuffer.class);
        MethodCall forward = MethodCall.invokeSelf().onField("target").withAllArguments();
        return new ByteBuddy()
                .subclass(GuardedBufferFactory.class)
                .name(GuardedBufferFactory.class.getName() + "Generated")
                .method(ElementMatchers.isAbstract())
                .intercept(forward)
                .method(ElementMatchers.isAbstract()
                        .and(ElementMatchers.returns(DataBuffer.class))
                        .and(ElementMatchers.hasParameters(ElementMatchers.whereAny(
                                ElementMatchers.hasType(ElementMatchers.is(MemoryWorkspace.class))))))
                .intercept(MethodCall.invoke(guard).withMethodCall(forward))
                .make()
                .load(
                        GuardedBufferFactory.class.getClassLoader(),
                        ClassLoadingStrategy.UsingLookup.of(MethodHandles.lookup()))
                .getLoaded();
    }
}
