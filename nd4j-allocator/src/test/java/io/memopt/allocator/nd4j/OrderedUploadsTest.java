// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.nativeblas.NativeOps;

/** On a device that copies only when someone waits for its stream: what then arrives is what the ring held last. */
class OrderedUploadsTest {
    private static final long RING = 4096;

    private final ArrayDeque<Copy> pending = new ArrayDeque<>();
    private final List<Long> waits = new ArrayList<>();
    private final NativeOps ops = (NativeOps) Proxy.newProxyInstance(
            OrderedUploadsTest.class.getClassLoader(), new Class<?>[] {NativeOps.class}, (self, method, arguments) -> {
                switch (method.getName()) {
                    case "mallocHost" -> {
                        return Pointer.malloc((Long) arguments[0]);
                    }
                    case "memcpyAsync" -> {
                        pending.add(
                                new Copy(((Pointer) arguments[0]).address(), ((Pointer) arguments[1]).address(), (Long)
                                        arguments[2]));
                        return 1;
                    }
                    case "streamSynchronize" -> {
                        waits.add(((Pointer) arguments[0]).address());
                        work();
                        return 1;
                    }
                    default -> throw new UnsupportedOperationException(method.getName());
                }
            });
    private Pointer stream = new PagedPointer(17);

    private record Copy(long to, long from, long bytes) {}

    private void work() {
        for (Copy copy = pending.poll(); copy != null; copy = pending.poll()) {
            Pointer.memcpy(new PagedPointer(copy.to()), new PagedPointer(copy.from()), copy.bytes());
        }
    }

    @Test
    void copy_ofManySmallArrays_bringsEachWhatItsSourceHeldThen() {
        OrderedUploads uploads = Objects.requireNonNull(OrderedUploads.open(ops, () -> stream, RING));
        int count = 1000;
        try (LongPointer device = new LongPointer(count);
                LongPointer source = new LongPointer(1)) {
            for (int i = 0; i < count; i++) {
                source.put(0, 7L * i);
                assertThat(uploads.copy(at(device, i), source, Long.BYTES)).isEqualTo(1);
            }
            source.put(0, -1);
            work();

            for (int i = 0; i < count; i++) {
                assertThat(device.get(i)).as("array %d", i).isEqualTo(7L * i);
            }
        }
        assertThat(waits).as("once for each round of the ring").hasSize(15);
    }

    /** Older JavaCPP leaves the position out of the address. */
    private static Pointer at(LongPointer array, long index) {
        return new PagedPointer(array.address() + index * Long.BYTES);
    }

    @Test
    void copy_whenTheThreadGoesToAnotherStream_waitsForTheOneBefore() {
        OrderedUploads uploads = Objects.requireNonNull(OrderedUploads.open(ops, () -> stream, RING));
        try (BytePointer device = new BytePointer(64);
                BytePointer source = new BytePointer(64)) {
            uploads.copy(device, source, 64);
            stream = new PagedPointer(18);
            uploads.copy(device, source, 64);
            uploads.copy(device, source, 64);
        }
        assertThat(waits).containsExactly(17L);
    }
}
