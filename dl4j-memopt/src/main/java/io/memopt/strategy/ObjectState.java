// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.layers.LayerHelper;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What the fields of some objects hold at one moment, and those of all objects that they refer to: layers with their
 * configuration, so that a layer that counts its calls or keeps arrays between them can be called once more unnoticed.
 *
 * <p>What Deeplearning4j's own classes make when it is first needed, such as views of gradients, stays. Networks, listeners, helpers of layers (they keep handles and scratch memory of a library) and what lies in native memory are left out, but for arrays that belong to classes which are not
 * Deeplearning4j's own: those are copied, as their owners may write into them. State in static fields and in classes of the
 * JDK and ND4J other than collections, arrays and atomic numbers is not seen.
 *
 * <p>Memory: some hundred bytes for each object, at most {@value #MAX_OBJECTS}, and the copies. Threading: confined.
 */
final class ObjectState {
    static final int MAX_OBJECTS = 1 << 17;

    /** Whose objects are left alone: buffers, pointers, random generators, operations, loggers, strings. */
    private static final List<String> FOREIGN =
            List.of("org.nd4j.", "org.bytedeco.", "org.slf4j.", "ch.qos.", "org.apache.", "java.", "jdk.", "sun.");

    private static final ClassValue<List<Slot>> SLOTS = new ClassValue<>() {
        @Override
        protected List<Slot> computeValue(Class<?> type) {
            return slotsOf(type);
        }
    };

    private static final ClassValue<Boolean> LEFT_OUT = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return isLeftOut(type);
        }
    };

    private final Set<Object> known = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Deque<Object> toVisit = new ArrayDeque<>();
    private final List<Runnable> restorers = new ArrayList<>();

    private ObjectState() {}

    /**
     * The state of {@code roots} now.
     *
     * @throws IllegalStateException if they refer to more than {@value #MAX_OBJECTS} objects, or a field cannot be read
     */
    static ObjectState of(Object[] roots) {
        ObjectState state = new ObjectState();
        state.meet(roots, false);
        while (!state.toVisit.isEmpty()) {
            state.visit(state.toVisit.remove());
        }
        state.known.clear();
        return state;
    }

    /** Gives every field its value back, and every copied array its content. */
    void restore() {
        restorers.forEach(Runnable::run);
    }

    /** {@code copied}: whether an array is copied, not only referred to. */
    private void meet(@Nullable Object value, boolean copied) {
        if (value == null || LEFT_OUT.get(value.getClass())) {
            return;
        }
        if (value instanceof INDArray array) {
            if (copied && known.add(array)) {
                copy(array);
            }
        } else if (known.add(value)) {
            toVisit.add(value);
            if (known.size() > MAX_OBJECTS) {
                throw new IllegalStateException("layers refer to more than " + MAX_OBJECTS + " objects");
            }
        }
    }

    private static boolean isLeftOut(Class<?> type) {
        return NeuralNetwork.class.isAssignableFrom(type)
                || TrainingListener.class.isAssignableFrom(type)
                || LayerHelper.class.isAssignableFrom(type)
                || Enum.class.isAssignableFrom(type)
                || (FOREIGN.stream().anyMatch(type.getName()::startsWith) && !isHandled(type));
    }

    /** Those of others' classes that are not left alone. */
    private static boolean isHandled(Class<?> type) {
        return INDArray.class.isAssignableFrom(type)
                || Map.class.isAssignableFrom(type)
                || Collection.class.isAssignableFrom(type)
                || AtomicInteger.class.isAssignableFrom(type)
                || AtomicLong.class.isAssignableFrom(type);
    }

    private void visit(Object object) {
        if (object instanceof Map<?, ?> map) {
            visitMap(map);
        } else if (object instanceof Collection<?> collection) {
            visitCollection(collection);
        } else if (object instanceof AtomicInteger number) {
            int value = number.get();
            restorers.add(() -> number.set(value));
        } else if (object instanceof AtomicLong number) {
            long value = number.get();
            restorers.add(() -> number.set(value));
        } else if (object.getClass().isArray()) {
            visitArray(object);
        } else {
            for (Slot slot : SLOTS.get(object.getClass())) {
                visitSlot(object, slot);
            }
        }
    }

    private void visitSlot(Object object, Slot slot) {
        Field field = slot.field;
        Object value = read(object, field);
        if (slot.changes && (value != null || !slot.own)) { // what is not yet made stays when it is
            restorers.add(() -> write(object, field, value));
        }
        if (slot.refers) {
            meet(value, !slot.own);
        }
    }

    private void visitMap(Map<?, ?> map) {
        Map<Object, Object> entries = new LinkedHashMap<>(map);
        restorers.add(() -> restore(map, entries));
        entries.values().forEach(value -> meet(value, false));
    }

    @SuppressWarnings("unchecked")
    private static void restore(Map<?, ?> map, Map<Object, Object> entries) {
        boolean same = map.size() == entries.size()
                && map.entrySet().stream().allMatch(entry -> entries.get(entry.getKey()) == entry.getValue());
        if (!same) {
            map.clear();
            ((Map<Object, Object>) map).putAll(entries);
        }
    }

    private void visitCollection(Collection<?> collection) {
        List<Object> elements = new ArrayList<>(collection);
        restorers.add(() -> restore(collection, elements));
        elements.forEach(element -> meet(element, false));
    }

    @SuppressWarnings("unchecked")
    private static void restore(Collection<?> collection, List<Object> elements) {
        List<Object> now = new ArrayList<>(collection);
        boolean same = now.size() == elements.size();
        for (int i = 0; same && i < now.size(); i++) {
            same = now.get(i) == elements.get(i);
        }
        if (!same) {
            collection.clear();
            ((Collection<Object>) collection).addAll(elements);
        }
    }

    private void visitArray(Object array) {
        int length = Array.getLength(array);
        Object copy = Array.newInstance(array.getClass().getComponentType(), length);
        System.arraycopy(array, 0, copy, 0, length);
        restorers.add(() -> System.arraycopy(copy, 0, array, 0, length));
        if (array instanceof Object[] elements) {
            for (Object element : elements) {
                meet(element, false);
            }
        }
    }

    private void copy(INDArray array) {
        if (array.isAttached() || array.wasClosed() || array.isEmpty()) {
            return;
        }
        INDArray content = array.dup();
        restorers.add(() -> array.assign(content));
    }

    private static @Nullable Object read(Object object, Field field) {
        try {
            return field.get(object);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be read", e);
        }
    }

    private static void write(Object object, Field field, @Nullable Object value) {
        try {
            field.set(object, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " cannot be set back", e);
        }
    }

    private static List<Slot> slotsOf(Class<?> type) {
        List<Slot> slots = new ArrayList<>();
        for (Class<?> each = type; each != null && each != Object.class; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && field.trySetAccessible()) {
                    slots.add(Slot.of(field));
                }
            }
        }
        return List.copyOf(slots);
    }

    /**
     * A field of a class, and what is asked about it again and again.
     *
     * @param changes whether it can be written
     * @param own whether its class is Deeplearning4j's: its layers replace arrays that they keep, they do not write into them
     * @param refers whether it may hold an object
     */
    private record Slot(Field field, boolean changes, boolean own, boolean refers) {
        static Slot of(Field field) {
            return new Slot(
                    field,
                    !Modifier.isFinal(field.getModifiers()),
                    field.getDeclaringClass().getName().startsWith("org.deeplearning4j."),
                    !field.getType().isPrimitive());
        }
    }
}
