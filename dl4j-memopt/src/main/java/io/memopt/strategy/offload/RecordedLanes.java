// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.pool.CopyFigures;
import io.memopt.allocator.pool.CopyLanes;

/** Lanes whose copies are in the books, as those that ND4J makes; their time there is that of the call. Threading: safe. */
record RecordedLanes(CopyLanes lanes) implements CopyLanes {
    @Override
    public long toHost(long device, long host, long bytes, long... after) {
        long begun = System.nanoTime();
        long copy = lanes.toHost(device, host, bytes, after);
        tell(TransferDirection.DEVICE_TO_HOST, host, device, bytes, begun);
        return copy;
    }

    @Override
    public long toDevice(long host, long device, long bytes, long... after) {
        long begun = System.nanoTime();
        long copy = lanes.toDevice(host, device, bytes, after);
        tell(TransferDirection.HOST_TO_DEVICE, device, host, bytes, begun);
        return copy;
    }

    private static void tell(TransferDirection direction, long to, long from, long bytes, long begun) {
        MemoryHooks.recording().ledger().transferred(direction, to, from, bytes, System.nanoTime() - begun);
    }

    @Override
    public void hold(long copy) {
        lanes.hold(copy);
    }

    @Override
    public void forget(long copy) {
        lanes.forget(copy);
    }

    @Override
    public CopyFigures figures() {
        return lanes.figures();
    }
}
