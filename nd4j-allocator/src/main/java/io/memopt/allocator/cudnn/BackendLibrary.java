// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static java.lang.invoke.MethodType.methodType;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.cuda.cudnn.cudnnContext;
import org.bytedeco.cuda.global.cudnn;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;

/**
 * cuDNN's functions for graphs of operations (its "backend"), where the JavaCPP presets on the class path have them: those of cuDNN 9
 * do, those of cuDNN 8.3, which ND4J 1.0.0-M2.1 comes with and this is compiled against, do not. Returned are cuDNN's status
 * codes. Threading: safe, as far as two threads do not change one descriptor.
 */
final class BackendLibrary {
    private static final String DESCRIPTOR = "org.bytedeco.cuda.cudnn.cudnnBackendDescriptor_t";
    private static final @Nullable BackendLibrary INSTANCE = link();

    private final MethodHandle construct;
    private final MethodHandle create;
    private final MethodHandle destroy;
    private final MethodHandle set;
    private final MethodHandle get;
    private final MethodHandle finish;
    private final MethodHandle execute;

    private BackendLibrary(Class<?> descriptor) throws ReflectiveOperationException {
        construct = MethodHandles.publicLookup()
                .findConstructor(descriptor, methodType(void.class))
                .asType(methodType(Pointer.class));
        create = find("cudnnBackendCreateDescriptor", descriptor, int.class, Pointer.class);
        destroy = find("cudnnBackendDestroyDescriptor", descriptor, Pointer.class);
        set = find(
                "cudnnBackendSetAttribute",
                descriptor,
                Pointer.class,
                int.class,
                int.class,
                long.class,
                PlainPointer.class);
        get = find(
                "cudnnBackendGetAttribute",
                descriptor,
                Pointer.class,
                int.class,
                int.class,
                long.class,
                LongPointer.class,
                PlainPointer.class);
        finish = find("cudnnBackendFinalize", descriptor, Pointer.class);
        execute = find("cudnnBackendExecute", descriptor, cudnnContext.class, Pointer.class, Pointer.class);
    }

    /** Stands for an argument that is a {@link Pointer} and no descriptor. */
    private static final class PlainPointer {}

    private static @Nullable BackendLibrary link() {
        try {
            return new BackendLibrary(Class.forName(DESCRIPTOR, false, cudnn.class.getClassLoader()));
        } catch (ReflectiveOperationException | LinkageError e) {
            return null;
        }
    }

    private static MethodHandle find(String name, Class<?> descriptor, Class<?>... arguments)
            throws ReflectiveOperationException {
        List<Class<?>> exact = new ArrayList<>();
        List<Class<?>> general = new ArrayList<>();
        for (Class<?> argument : arguments) {
            boolean plain = argument == PlainPointer.class;
            exact.add(argument == Pointer.class ? descriptor : plain ? Pointer.class : argument);
            general.add(plain ? Pointer.class : argument);
        }
        MethodType type = methodType(int.class, exact);
        return MethodHandles.publicLookup().findStatic(cudnn.class, name, type).asType(methodType(int.class, general));
    }

    /** Null where the presets lack the functions. */
    static @Nullable BackendLibrary instance() {
        return INSTANCE;
    }

    /** A descriptor that {@link #create} is to fill in. */
    Pointer empty() {
        try {
            return (Pointer) construct.invokeExact();
        } catch (Throwable e) {
            throw failed(e);
        }
    }

    int create(int kind, Pointer descriptor) {
        try {
            return (int) create.invokeExact(kind, descriptor);
        } catch (Throwable e) {
            throw failed(e);
        }
    }

    int destroy(Pointer descriptor) {
        try {
            return (int) destroy.invokeExact(descriptor);
        } catch (Throwable e) {
            throw failed(e);
        }
    }

    int set(Pointer descriptor, int attribute, int type, long count, Pointer values) {
        try {
            return (int) set.invokeExact(descriptor, attribute, type, count, values);
        } catch (Throwable e) {
            throw failed(e);
        }
    }

    int get(Pointer descriptor, int attribute, int type, long room, LongPointer count, @Nullable Pointer values) {
        try {
            return (int) get.invokeExact(descriptor, attribute, type, room, count, values);
        } catch (Throwable e) {
            throw failed(e);
        }
    }

    int finish(Pointer descriptor) {
        try {
            return (int) finish.invokeExact(descriptor);
        } catch (Throwable e) {
            throw failed(e);
        }
    }

    int execute(cudnnContext handle, Pointer plan, Pointer arguments) {
        try {
            return (int) execute.invokeExact(handle, plan, arguments);
        } catch (Throwable e) {
            throw failed(e);
        }
    }

    private static LayerEngineException failed(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        return new LayerEngineException("A call of cuDNN failed: " + e);
    }
}
