// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/** Where the block of a thread's arena lies: where ND4J would have put the arrays. Threading: any thread. */
interface ArenaMemory {

    /** Bytes that nobody else has; null when there are none. Asked on the thread that will use them. */
    @Nullable
    Pointer take(long bytes);

    /** Gives back what {@link #take} gave; nothing uses it any more but what the device has still to do. */
    void give(Pointer block);

    /** True when Java code can read and write the bytes. */
    boolean isHost();

    /** For the ND4J at hand. */
    static ArenaMemory ofBackend() {
        return Nd4jFacts.isCuda() ? new OnDevice() : new OnHost();
    }

    /** Beside the arrays of the CPU backend. */
    final class OnHost implements ArenaMemory {
        @Override
        public @Nullable Pointer take(long bytes) {
            return ops().mallocHost(bytes, 0);
        }

        @Override
        public void give(Pointer block) {
            ops().freeHost(block);
        }

        @Override
        public boolean isHost() {
            return true;
        }
    }

    /** On the device that the thread works with. */
    final class OnDevice implements ArenaMemory {
        /** Start to end. */
        private static final ConcurrentSkipListMap<Long, Long> RANGES = new ConcurrentSkipListMap<>();

        private volatile int device = -1;

        /** Whether {@code address} lies in any of these blocks. */
        static boolean holds(long address) {
            Map.Entry<Long, Long> range = RANGES.isEmpty() ? null : RANGES.floorEntry(address);
            return range != null && address < range.getValue();
        }

        @Override
        public @Nullable Pointer take(long bytes) {
            device = Nd4j.getAffinityManager().getDeviceForCurrentThread();
            Pointer block = ops().mallocDevice(bytes, device, 0);
            if (block != null && block.address() != 0) {
                RANGES.put(block.address(), block.address() + bytes);
            }
            return block;
        }

        @Override
        public void give(Pointer block) {
            RANGES.remove(block.address());
            Nd4j.getExecutioner().commit(); // of this thread; the driver waits for what other threads have begun
            ops().freeDevice(block, device);
        }

        @Override
        public boolean isHost() {
            return false;
        }
    }

    private static NativeOps ops() {
        return NativeOpsHolder.getInstance().getDeviceNativeOps();
    }
}
