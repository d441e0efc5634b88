// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.util.Optional;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.dynamic.scaffold.subclass.ConstructorStrategy;
import net.bytebuddy.implementation.MethodCall;
import net.bytebuddy.implementation.SuperMethodCall;
import net.bytebuddy.matcher.ElementMatchers;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.indexer.Indexer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes indexers that tell a guard of each element they read or write. ND4J reads single elements of host arrays through a
 * JavaCPP indexer and not through a native call; the indexers made here are subclasses of the very class they replace, so
 * they read and write the same bytes in the same way.
 *
 * <p>Only indexers that work on a pointer alone can be replaced (JavaCPP names them {@code …RawIndexer} and uses them
 * wherever {@code Unsafe} is at hand); others stay as they are. Threading: safe.
 */
final class GuardedIndexers {
    private static final Logger log = LoggerFactory.getLogger(GuardedIndexers.class);
    private static final String GUARD = "guard";

    private static final ClassValue<Optional<Constructor<? extends Indexer>>> CONSTRUCTORS = new ClassValue<>() {
        @Override
        protected Optional<Constructor<? extends Indexer>> computeValue(Class<?> type) {
            try {
                return Optional.of(generate(type.asSubclass(Indexer.class)));
            } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
                log.debug("Elements read through {} are not seen: {}", type.getName(), e.toString());
                return Optional.empty();
            }
        }
    };

    private GuardedIndexers() {}

    /** An indexer like {@code plain} over the same pointer; empty when it is of another kind. */
    static Optional<Indexer> guarded(Indexer plain, ElementGuard guard) throws ReflectiveOperationException {
        Pointer pointer = plain.pointer();
        Optional<Constructor<? extends Indexer>> constructor =
                pointer == null ? Optional.empty() : CONSTRUCTORS.get(plain.getClass());
        if (constructor.isEmpty() || !constructor.get().getParameterTypes()[0].isInstance(pointer)) {
            return Optional.empty();
        }
        Indexer indexer = constructor.get().newInstance(pointer);
        indexer.getClass().getField(GUARD).set(indexer, guard);
        return Optional.of(indexer);
    }

    private static Constructor<? extends Indexer> generate(Class<? extends Indexer> type)
            throws ReflectiveOperationException {
        Class<? extends Indexer> generated = new ByteBuddy()
                .subclass(type, ConstructorStrategy.Default.IMITATE_SUPER_CLASS_PUBLIC)
                .name(GuardedIndexers.class.getPackageName() + ".Guarded" + type.getSimpleName())
                .defineField(GUARD, ElementGuard.class, Visibility.PUBLIC)
                .method(ElementMatchers.isPublic()
                        .and(ElementMatchers.not(ElementMatchers.isStatic()))
                        .and(ElementMatchers.named("get").or(ElementMatchers.named("put")))
                        .and(ElementMatchers.not(ElementMatchers.isAbstract())))
                .intercept(MethodCall.invoke(ElementGuard.class.getMethod("touched"))
                        .onField(GUARD)
                        .andThen(SuperMethodCall.INSTANCE))
                .make()
                .load(
                        GuardedIndexers.class.getClassLoader(),
                        ClassLoadingStrategy.UsingLookup.of(MethodHandles.lookup()))
                .getLoaded();
        for (Constructor<?> constructor : generated.getConstructors()) {
            Class<?>[] types = constructor.getParameterTypes();
            if (types.length == 1 && Pointer.class.isAssignableFrom(types[0])) {
                return generated.getConstructor(types);
            }
        }
        throw new NoSuchMethodException(type.getName() + "(Pointer)");
    }
}
