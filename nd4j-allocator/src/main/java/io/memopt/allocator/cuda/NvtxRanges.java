// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cuda;

import static org.bytedeco.cuda.global.nvToolsExt.nvtxRangePop;
import static org.bytedeco.cuda.global.nvToolsExt.nvtxRangePushA;

import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import java.util.Locale;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.BytePointer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shows phases and layers as NVTX ranges, such as {@code MultiLayerNetwork-1 forward conv1}, in the timelines of NVIDIA's
 * profilers. One range follows the other on each thread; ranges do not nest.
 *
 * <p>Costs two native calls whenever a thread goes to another layer or phase. Threading: safe.
 */
public final class NvtxRanges implements EventSink {
    private static final Logger log = LoggerFactory.getLogger(NvtxRanges.class);

    private final OwnerTable owners;
    private final ConcurrentHashMap<Integer, BytePointer> names = new ConcurrentHashMap<>();
    private final ThreadLocal<Boolean> open = ThreadLocal.withInitial(() -> false);

    private NvtxRanges(OwnerTable owners) {
        this.owners = owners;
    }

    /**
     * Ranges named by {@code owners}.
     *
     * @throws LinkageError if the library nvToolsExt, or its binding, is not there, as with the newest versions of CUDA
     */
    public static NvtxRanges of(OwnerTable owners) {
        nvtxRangePushA("memopt");
        nvtxRangePop();
        log.debug("Phases and layers are shown as NVTX ranges");
        return new NvtxRanges(owners);
    }

    @Override
    public void accept(
            int code, long timeNanos, long thread, int owner, int workspace, long address, long bytes, long extra) {
        if (EventCode.kind(code) != EventKind.CONTEXT) {
            return;
        }
        if (open.get()) {
            nvtxRangePop();
        }
        boolean begins = owner != OwnerTable.UNKNOWN;
        if (begins) {
            nvtxRangePushA(names.computeIfAbsent(owner, this::name));
        }
        open.set(begins);
    }

    private BytePointer name(int id) {
        return new BytePointer(nameOf(owners.ownerOf(id)));
    }

    /** Network, phase and layer, as far as they are known. */
    static String nameOf(Owner owner) {
        String phase = owner.phase().name().toLowerCase(Locale.ROOT);
        return (owner.network() + " " + phase + " " + owner.layer()).trim();
    }
}
