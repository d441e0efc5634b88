// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.MemoryLedger;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.OpaqueDataBuffer;

/** Places on the host of arrays on a device, over a library that only tells what it was asked. */
class HostPlacesTest {
    private static final int FLOAT = 5;
    private static final long LARGE = HostPlaces.LEAST_BYTES / Float.BYTES;
    private static final long ON_DEVICE = 0x7f00_0000_0000L;
    private static final long ND4JS_PLACE = 0x5500_0000_0000L;

    private final List<String> asked = new ArrayList<>();
    private final Map<Long, Long> lengths = new HashMap<>();
    private final Map<Long, Long> places = new HashMap<>();
    private long next = 1000;
    private final NativeOps library = (NativeOps) Proxy.newProxyInstance(
            HostPlacesTest.class.getClassLoader(), new Class<?>[] {NativeOps.class}, (self, method, arguments) -> {
                switch (method.getName()) {
                    case "allocateDataBuffer" -> {
                        lengths.put(next, (Long) arguments[0]);
                        return buffer(next++);
                    }
                    case "dbAllocatePrimaryBuffer" -> {
                        asked.add("place " + address(arguments[0]));
                        places.put(address(arguments[0]), ND4JS_PLACE);
                    }
                    case "dbSetPrimaryBuffer" -> {
                        asked.add("ours " + address(arguments[0]) + " " + arguments[2]);
                        places.put(address(arguments[0]), address(arguments[1]));
                    }
                    case "dbBufferLength" -> {
                        return lengths.get(address(arguments[0]));
                    }
                    case "dbPrimaryBuffer" -> {
                        return new PagedPointer(places.get(address(arguments[0])));
                    }
                    case "dbSpecialBuffer" -> {
                        return new PagedPointer(ON_DEVICE);
                    }
                    case "deleteDataBuffer", "dbClose" -> asked.add("gone " + address(arguments[0]));
                    default -> throw new UnsupportedOperationException(method.getName());
                }
                return null;
            });
    private final ServedMemory memory = new ServedMemory();
    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);

    @Test
    void placeOfALargeArray_isOurs_untilTheArrayGoes() {
        NativeOps ops = serving(true);
        OpaqueDataBuffer array = ops.allocateDataBuffer(LARGE, FLOAT, false);

        ops.dbAllocatePrimaryBuffer(array);

        assertThat(asked).containsExactly("ours 1000 " + LARGE);
        assertThat(memory.mirrorBytes()).isEqualTo(HostPlaces.LEAST_BYTES);
        Pointer.memset(new PagedPointer(places.get(1000L)), 1, HostPlaces.LEAST_BYTES);

        ops.deleteDataBuffer(array);

        assertThat(asked).endsWith("gone 1000");
        assertThat(memory.mirrorBytes()).isZero();
    }

    @Test
    void place_isFreedRightly_afterServingHasEnded() {
        NativeOps ops = serving(true);
        OpaqueDataBuffer array = ops.allocateDataBuffer(LARGE, FLOAT, false);
        ops.dbAllocatePrimaryBuffer(array);

        memory.end();
        assertThat(memory.isOver()).isFalse();
        ops.dbClose(array);

        assertThat(memory.isOver()).isTrue();
    }

    @Test
    void placesOfOthers_areNd4jsOwn() {
        NativeOps plain = serving(false);
        plain.dbAllocatePrimaryBuffer(plain.allocateDataBuffer(LARGE, FLOAT, false));
        NativeOps ops = serving(true);
        ops.dbAllocatePrimaryBuffer(ops.allocateDataBuffer(LARGE - 1, FLOAT, false));
        ops.dbAllocatePrimaryBuffer(ops.allocateDataBuffer(LARGE, FLOAT, true));

        assertThat(asked).containsExactly("place 1000", "place 1001", "place 1002");
        assertThat(memory.mirrorBytes()).isZero();
    }

    @Test
    void placeThatIsThere_isNotMadeAgain() {
        NativeOps ops = serving(true);
        OpaqueDataBuffer array = ops.allocateDataBuffer(LARGE, FLOAT, false);

        ops.dbAllocatePrimaryBuffer(array);
        ops.dbAllocatePrimaryBuffer(array);

        assertThat(asked).containsExactly("ours 1000 " + LARGE, "place 1000"); // which does nothing there
        assertThat(memory.mirrorBytes()).isEqualTo(HostPlaces.LEAST_BYTES);
    }

    @Test
    void nd4jsOwnPlace_isBookedForWhomTheArrayIs() throws ReflectiveOperationException {
        NativeOps ops = InterposerFactory.interpose(serving(false), ledger, true);
        OpaqueDataBuffer array = ops.allocateDataBuffer(LARGE, FLOAT, false);
        ledger.reclassify(array.address(), "net", Category.PARAMETERS);

        ops.dbAllocatePrimaryBuffer(array);

        assertThat(ledger.reservedBytes(MemorySpace.HOST)).isEqualTo(HostPlaces.LEAST_BYTES);
        assertThat(ledger.inUseBytes(Category.PARAMETERS)).isEqualTo(2 * HostPlaces.LEAST_BYTES);

        ops.deleteDataBuffer(array);

        assertThat(ledger.reservedBytes()).isZero();
    }

    @Test
    void arrayThatTurnsOutToBeANetworks_takesItsPlaceAlong() throws ReflectiveOperationException {
        NativeOps ops = InterposerFactory.interpose(serving(false), ledger, true);
        OpaqueDataBuffer array = ops.allocateDataBuffer(LARGE, FLOAT, false);
        ops.dbAllocatePrimaryBuffer(array);

        ledger.reclassify(array.address(), "net", Category.GRADIENTS);

        assertThat(ledger.inUseBytes(Category.GRADIENTS)).isEqualTo(2 * HostPlaces.LEAST_BYTES);
    }

    @Test
    void untouchedPlace_isNotBooked_forItTakesNothing() throws ReflectiveOperationException {
        NativeOps ops = InterposerFactory.interpose(serving(true), ledger, true);
        OpaqueDataBuffer array = ops.allocateDataBuffer(LARGE, FLOAT, false);

        ops.dbAllocatePrimaryBuffer(array);

        assertThat(asked).containsExactly("ours 1000 " + LARGE);
        assertThat(ledger.reservedBytes(MemorySpace.HOST)).isZero();
        ops.deleteDataBuffer(array);
        assertThat(ledger.reservedBytes()).isZero();
    }

    private NativeOps serving(boolean mirrors) {
        try {
            memory.begin(null, null, mirrors);
            return InterposerFactory.serve(library, memory, true);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    private static long address(Object pointer) {
        return ((Pointer) pointer).address();
    }

    private static OpaqueDataBuffer buffer(long address) {
        return new OpaqueDataBuffer(new PagedPointer(address));
    }
}
