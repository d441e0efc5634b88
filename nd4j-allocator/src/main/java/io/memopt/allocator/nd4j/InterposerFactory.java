// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.use.UseBook;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.Implementation;
import net.bytebuddy.implementation.MethodCall;
import net.bytebuddy.matcher.ElementMatchers;
import org.jspecify.annotations.Nullable;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.OpaqueDataBuffer;

/**
 * Makes the object that takes the place of ND4J's native calls. Two classes are generated for it, whatever the ND4J at hand
 * declares:
 *
 * <ul>
 *   <li>the interposer: {@link NativeOpsInterposer} or {@link UseRecordingOps}, completed by plain forwards for every method
 *       that they leave abstract;
 *   <li>before it an {@link OpsFront}, which is a subclass of ND4J's own class: what the interposer books goes to the
 *       interposer, every other native call is inherited and costs what it did. A training step makes thousands of those.
 * </ul>
 *
 * <p>Where ND4J's class cannot be extended the interposer stands alone, and each call costs a field read and an interface
 * call more. (A reflection proxy costs 12 to 29 % of a GPU training step.)
 *
 * <p>Threading: safe.
 */
final class InterposerFactory {
    private static final GeneratedOnce<NativeOpsInterposer> PLAIN = new GeneratedOnce<>();
    private static final GeneratedOnce<UseRecordingOps> RECORDING = new GeneratedOnce<>();
    private static final GeneratedOnce<ServingOps> SERVING = new GeneratedOnce<>();
    private static final GeneratedOnce<LimitingOps> LIMITING = new GeneratedOnce<>();

    private InterposerFactory() {}

    /**
     * An interposer on {@code target} that books in {@code ledger}.
     *
     * @throws ReflectiveOperationException if the class can be generated but not made
     */
    static NativeOps interpose(NativeOps target, MemoryLedger ledger, boolean cuda)
            throws ReflectiveOperationException {
        NativeOpsInterposer interposer = PLAIN.get(
                        () -> load(forwarding(NativeOpsInterposer.class), NativeOpsInterposer.class),
                        NativeOps.class,
                        MemoryLedger.class,
                        boolean.class)
                .newInstance(target, ledger, cuda);
        return OpsFront.before(
                interposer, stock(target), booked(method -> isBooked(method) || isLayered(target, method)));
    }

    /** As {@link #interpose(NativeOps, MemoryLedger, boolean)}; the uses of arrays go to {@code book}. */
    static NativeOps interpose(NativeOps target, MemoryLedger ledger, boolean cuda, UseBook book)
            throws ReflectiveOperationException {
        UseRecordingOps interposer = RECORDING
                .get(
                        () -> load(telling(forwarding(UseRecordingOps.class)), UseRecordingOps.class),
                        NativeOps.class,
                        MemoryLedger.class,
                        boolean.class,
                        UseBook.class)
                .newInstance(target, ledger, cuda, book);
        return OpsFront.before(
                interposer,
                stock(target),
                booked(method ->
                        isWritten(method, UseRecordingOps.class) || tells(method) || isLayered(target, method)));
    }

    /** ND4J's own, behind the layers that serve and limit memory if there are any. */
    static NativeOps stock(NativeOps target) {
        NativeOps behind = behind(target);
        return behind == null ? target : stock(behind);
    }

    /** What {@code ops} is a layer in front of; null when it is none. */
    private static @Nullable NativeOps behind(NativeOps ops) {
        if (ops instanceof ServingOps serving) {
            return serving.target();
        }
        return ops instanceof LimitingOps limiting ? limiting.target() : null;
    }

    /** Operations run past the interposer unless what they allocate is measured. */
    private static boolean isBooked(Method method) {
        boolean measuredOnly = method.getName().equals(NativeOpsInterposer.OPERATION);
        return isWritten(method, NativeOpsInterposer.class) && (!measuredOnly || MemoryHooks.temporaries() != null);
    }

    /** True when a layer in front of ND4J's own has code for {@code method}; without one all of this is inherited. */
    private static boolean isLayered(NativeOps target, Method method) {
        NativeOps behind = behind(target);
        return behind != null && (isWritten(method, target.getClass().getSuperclass()) || isLayered(behind, method));
    }

    /** A layer in front of {@code target} that holds {@code limit}. */
    static LimitingOps limit(NativeOps target, AllocationLimit limit, boolean cuda)
            throws ReflectiveOperationException {
        return LIMITING.get(
                        () -> load(forwarding(LimitingOps.class), LimitingOps.class),
                        NativeOps.class,
                        AllocationLimit.class,
                        boolean.class)
                .newInstance(target, limit, cuda);
    }

    /** A layer in front of {@code target} that takes memory from {@code memory}. */
    static ServingOps serve(NativeOps target, ServedMemory memory, boolean cuda) throws ReflectiveOperationException {
        return SERVING.get(
                        () -> load(forwarding(ServingOps.class), ServingOps.class),
                        NativeOps.class,
                        ServedMemory.class,
                        boolean.class)
                .newInstance(target, memory, cuda);
    }

    /** The methods of ND4J's interface, old defaults included, that pass {@code test}. */
    private static List<Method> booked(Predicate<Method> test) {
        List<Method> booked = new ArrayList<>();
        for (Method method : NativeOps.class.getMethods()) {
            if (!Modifier.isStatic(method.getModifiers()) && test.test(method)) {
                booked.add(method);
            }
        }
        return booked;
    }

    /** True when {@code interposer} has code for it. */
    private static boolean isWritten(Method method, Class<?> interposer) {
        try {
            Method found = interposer.getMethod(method.getName(), method.getParameterTypes());
            return !found.getDeclaringClass().isInterface();
        } catch (NoSuchMethodException e) {
            return false;
        }
    }

    private static <T extends NativeOps> DynamicType.Builder<T> forwarding(Class<T> base) {
        return new ByteBuddy()
                .subclass(base)
                .name(base.getName() + "Generated")
                .method(ElementMatchers.isAbstract())
                .intercept(forward());
    }

    /** What takes a native buffer tells of the use first, unless it only manages the buffer. */
    private static <T> DynamicType.Builder<T> telling(DynamicType.Builder<T> builder) throws NoSuchMethodException {
        Method used = UseRecordingOps.class.getDeclaredMethod("used", OpaqueDataBuffer.class);
        DynamicType.Builder<T> result = builder;
        for (Method method : UseRecordingOps.class.getMethods()) {
            if (Modifier.isAbstract(method.getModifiers()) && tells(method)) {
                result = result.method(ElementMatchers.is(method)).intercept(telling(method, used));
            }
        }
        return result;
    }

    private static boolean tells(Method method) {
        return !method.getName().startsWith("db")
                && List.of(method.getParameterTypes()).contains(OpaqueDataBuffer.class);
    }

    /** {@code used(buffer)} for each buffer among the arguments, then the forward. */
    private static Implementation telling(Method method, Method used) {
        Implementation.@Nullable Composable calls = null;
        Class<?>[] types = method.getParameterTypes();
        for (int i = 0; i < types.length; i++) {
            if (types[i] == OpaqueDataBuffer.class) {
                MethodCall call = MethodCall.invoke(used).withArgument(i);
                calls = calls == null ? call : calls.andThen((Implementation.Composable) call);
            }
        }
        return calls == null ? forward() : calls.andThen(forward());
    }

    private static MethodCall forward() {
        return MethodCall.invokeSelf().onField("target").withAllArguments();
    }

    private static <T> Class<? extends T> load(DynamicType.Builder<T> builder, Class<T> base) {
        return builder.make()
                .load(base.getClassLoader(), ClassLoadingStrategy.UsingLookup.of(MethodHandles.lookup()))
                .getLoaded();
    }
}
