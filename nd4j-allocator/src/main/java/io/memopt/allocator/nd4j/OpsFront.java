// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.dynamic.scaffold.MethodGraph;
import net.bytebuddy.implementation.FieldAccessor;
import net.bytebuddy.implementation.MethodCall;
import org.jspecify.annotations.Nullable;
import org.nd4j.nativeblas.NativeOps;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * ND4J's own class of native calls, of which some go to an interposer. The rest are the inherited native methods: the JVM
 * calls them as if nothing stood in between.
 *
 * <p>ND4J's classes of native calls have no state of their own (all of it is in the native library), so a second instance is
 * as good as the first. Threading: safe.
 */
interface OpsFront {
    /** Number of the field that holds the interposer; public in the generated class. */
    String FIELD = "interposer";

    /** Where the booked calls go. */
    NativeOpsInterposer interposer();

    /** Sets {@link #interposer()}; once, before anyone calls. */
    void interposer(NativeOpsInterposer interposer);

    /** What books the calls of {@code ops}; null when nothing does. */
    static @Nullable NativeOpsInterposer interposerOf(NativeOps ops) {
        if (ops instanceof OpsFront front) {
            return front.interposer();
        }
        return ops instanceof NativeOpsInterposer interposer ? interposer : null;
    }

    /**
     * An object that calls like {@code target} but sends {@code booked} methods to {@code interposer}; the interposer itself
     * where {@code target}'s class cannot be extended.
     */
    static NativeOps before(NativeOpsInterposer interposer, NativeOps target, Collection<Method> booked) {
        try {
            NativeOps front = Fronts.classFor(target.getClass(), interposer.getClass(), booked)
                    .getConstructor()
                    .newInstance();
            ((OpsFront) front).interposer(interposer);
            return front;
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            Fronts.log.debug("{} cannot be extended; every native call is forwarded", target.getClass(), e);
            return interposer;
        }
    }

    /** The generated classes, by the class that they extend, the interposer that they serve, and the calls that go there. */
    final class Fronts {
        private static final Logger log = LoggerFactory.getLogger(OpsFront.class);
        private static final Map<Kind, Class<? extends NativeOps>> KNOWN = new HashMap<>();

        private record Kind(Class<?> target, Class<?> interposer, Set<Method> booked) {}

        private Fronts() {}

        static synchronized Class<? extends NativeOps> classFor(
                Class<? extends NativeOps> target, Class<?> interposer, Collection<Method> booked)
                throws NoSuchMethodException {
            Kind key = new Kind(target, interposer, Set.copyOf(booked));
            Class<? extends NativeOps> known = KNOWN.get(key);
            if (known == null) {
                known = generate(target, interposer, booked);
                KNOWN.put(key, known);
            }
            return known;
        }

        /** Methods are defined one by one: laying out the graph of a class with ten thousand methods takes seconds. */
        private static Class<? extends NativeOps> generate(
                Class<? extends NativeOps> target, Class<?> interposer, Collection<Method> booked)
                throws NoSuchMethodException {
            if (Modifier.isFinal(target.getModifiers())) {
                throw new IllegalArgumentException(target + " is final");
            }
            DynamicType.Builder<? extends NativeOps> builder = new ByteBuddy()
                    .with(MethodGraph.Compiler.ForDeclaredMethods.INSTANCE)
                    .subclass(target)
                    .name(interposer.getName() + "For" + target.getSimpleName() + KNOWN.size())
                    .implement(OpsFront.class)
                    .defineField(FIELD, NativeOpsInterposer.class, Visibility.PUBLIC)
                    .defineMethod("interposer", NativeOpsInterposer.class, Visibility.PUBLIC)
                    .intercept(FieldAccessor.ofField(FIELD))
                    .defineMethod("interposer", void.class, Visibility.PUBLIC)
                    .withParameters(NativeOpsInterposer.class)
                    .intercept(FieldAccessor.ofField(FIELD));
            for (Method method : booked) {
                builder = builder.defineMethod(method.getName(), method.getReturnType(), Visibility.PUBLIC)
                        .withParameters(List.of(method.getParameterTypes()))
                        .intercept(MethodCall.invoke(method).onField(FIELD).withAllArguments());
            }
            return builder.make()
                    .load(OpsFront.class.getClassLoader(), ClassLoadingStrategy.UsingLookup.of(MethodHandles.lookup()))
                    .getLoaded();
        }
    }
}
