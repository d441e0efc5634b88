// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;

/**
 * One of cuDNN's descriptors. Attributes are set, then {@link #finish} makes it usable. Numbers are those of {@code
 * cudnn_backend.h}, the same in versions 8 and 9; an error of cuDNN becomes a {@link LayerEngineException}. Threading: one thread at
 * a time.
 */
final class BackendDescriptor implements AutoCloseable {
    /** What a descriptor is of. */
    enum Kind {
        CONVOLUTION(1),
        ENGINE(2),
        ENGINE_CONFIGURATION(3),
        HEURISTICS(4),
        PLAN(5),
        FORWARD(10),
        BACKWARD_FILTER(11),
        BACKWARD_DATA(12),
        GRAPH(15),
        ARGUMENTS(16),
        TENSOR(17);

        private final int number;

        Kind(int number) {
            this.number = number;
        }
    }

    private static final int HANDLE = 0;
    private static final int INT64 = 3;
    private static final int FLOAT = 4;
    private static final int ADDRESS = 6;
    private static final int DESCRIPTOR = 15;

    private final BackendLibrary library;
    private final Pointer pointer;

    BackendDescriptor(BackendLibrary library, Kind kind) {
        this.library = library;
        this.pointer = library.empty();
        CudnnStream.check("cudnnBackendCreateDescriptor", library.create(kind.number, pointer));
    }

    Pointer pointer() {
        return pointer;
    }

    BackendDescriptor longs(BackendAttribute attribute, long... values) {
        try (LongPointer array = new LongPointer(values)) {
            return set(attribute, INT64, values.length, array);
        }
    }

    /** Of an enumeration of cuDNN's, {@code type}. */
    BackendDescriptor number(BackendAttribute attribute, int type, int value) {
        try (IntPointer array = new IntPointer(new int[] {value})) {
            return set(attribute, type, 1, array);
        }
    }

    BackendDescriptor real(BackendAttribute attribute, float value) {
        try (FloatPointer array = new FloatPointer(new float[] {value})) {
            return set(attribute, FLOAT, 1, array);
        }
    }

    BackendDescriptor handle(BackendAttribute attribute, Pointer handle) {
        return addresses(attribute, HANDLE, handle.address());
    }

    /** On the device. */
    BackendDescriptor places(BackendAttribute attribute, long... addresses) {
        return addresses(attribute, ADDRESS, addresses);
    }

    BackendDescriptor descriptor(BackendAttribute attribute, BackendDescriptor other) {
        return addresses(attribute, DESCRIPTOR, other.pointer.address());
    }

    private BackendDescriptor addresses(BackendAttribute attribute, int type, long... addresses) {
        try (LongPointer array = new LongPointer(addresses)) {
            return set(attribute, type, addresses.length, array);
        }
    }

    private BackendDescriptor set(BackendAttribute attribute, int type, long count, Pointer values) {
        CudnnStream.check(
                "cudnnBackendSetAttribute " + attribute, library.set(pointer, attribute.number, type, count, values));
        return this;
    }

    BackendDescriptor finish() {
        CudnnStream.check("cudnnBackendFinalize", library.finish(pointer));
        return this;
    }

    /** An attribute of one number of 64 bits. */
    long getLong(BackendAttribute attribute) {
        try (LongPointer value = new LongPointer(1)) {
            get(attribute, INT64, 1, value);
            return value.get();
        }
    }

    /** Values of an enumeration of cuDNN's, {@code type}; at most {@code room} of them. */
    List<Integer> getNumbers(BackendAttribute attribute, int type, int room) {
        try (IntPointer values = new IntPointer(room)) {
            int count = Math.toIntExact(get(attribute, type, room, values));
            int[] numbers = new int[Math.min(count, room)];
            values.get(numbers);
            return Arrays.stream(numbers).boxed().toList();
        }
    }

    /** As {@link #getDescriptors}, exactly one. */
    BackendDescriptor getDescriptor(BackendAttribute attribute, Kind kind) {
        List<BackendDescriptor> found = getDescriptors(attribute, kind, 1);
        if (found.isEmpty()) {
            throw new LayerEngineException("cuDNN gives no " + kind + " for attribute " + attribute + ".");
        }
        return found.get(0);
    }

    /** New descriptors, of {@code kind}, that cuDNN fills in; those who ask close them. At most {@code room} of them. */
    List<BackendDescriptor> getDescriptors(BackendAttribute attribute, Kind kind, int room) {
        int count = Math.toIntExact(Math.min(room, get(attribute, DESCRIPTOR, 0, null)));
        List<BackendDescriptor> found = new ArrayList<>();
        if (count == 0) {
            return found;
        }
        try (LongPointer addresses = new LongPointer(count)) {
            for (int i = 0; i < count; i++) {
                found.add(new BackendDescriptor(library, kind));
                addresses.put(i, found.get(i).pointer.address());
            }
            int filled = Math.toIntExact(get(attribute, DESCRIPTOR, count, addresses));
            found.subList(Math.min(filled, count), count).forEach(BackendDescriptor::close);
            return found.subList(0, Math.min(filled, count));
        }
    }

    private long get(BackendAttribute attribute, int type, int room, @Nullable Pointer values) {
        try (LongPointer count = new LongPointer(1)) {
            CudnnStream.check(
                    "cudnnBackendGetAttribute " + attribute,
                    library.get(pointer, attribute.number, type, room, count, values));
            return count.get();
        }
    }

    @Override
    public void close() {
        library.destroy(pointer);
    }
}
