// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

/**
 * One arena whose pointer only moves up and is set back at the end of each iteration; what outlives the iteration gets memory
 * of its own. Arrays are aligned to 32 B as in ND4J. The arena is as large as the largest iteration so far.
 */
final class BumpModel implements AllocatorModel {
    private static final long ALIGNMENT = 32;

    private long arena;
    private long top;
    private long own;
    private long rounded;
    private long driverCalls;

    private record Placed(long bytes, boolean outlives) {}

    @Override
    public String name() {
        return "bump";
    }

    @Override
    public Object allocate(long bytes, boolean outlives) {
        long size = Rounding.up(bytes, ALIGNMENT);
        rounded += size;
        if (outlives) {
            own += size;
            driverCalls++;
        } else {
            top += size;
            if (top > arena) {
                arena = top;
                driverCalls++;
            }
        }
        return new Placed(size, outlives);
    }

    @Override
    public void free(Object handle) {
        Placed placed = (Placed) handle;
        rounded -= placed.bytes;
        if (placed.outlives) {
            own -= placed.bytes;
            driverCalls++;
        }
    }

    @Override
    public void iterationEnded() {
        top = 0;
    }

    @Override
    public long reservedBytes() {
        return arena + own;
    }

    @Override
    public long roundedBytes() {
        return rounded;
    }

    @Override
    public long largestHoleBytes() {
        return arena - top;
    }

    @Override
    public long driverCalls() {
        return driverCalls;
    }
}
