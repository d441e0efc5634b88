// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import io.memopt.allocator.cudnn.BackendDescriptor.Kind;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.cuda.cudnn.cudnnContext;
import org.jspecify.annotations.Nullable;

/**
 * One way to compute a {@link BackendGraph}, made ready once. Running it costs the host what a launch costs; the older functions of
 * cuDNN 9 make such a plan in each call. Threading: one thread at a time.
 */
final class BackendPlan implements AutoCloseable {
    /** Parts of a minibatch, and arrays that ND4J puts here and there in turns. */
    private static final int MOST_ARGUMENTS = 4;

    private final BackendLibrary library;
    private final BackendDescriptor plan;
    private final long scratchBytes;
    private final List<Arguments> latest = new ArrayList<>(MOST_ARGUMENTS);

    /** Where arrays and scratch memory lie, for one call. */
    private record Arguments(long x, long w, long y, long scratch, BackendDescriptor descriptor) {}

    private BackendPlan(BackendLibrary library, BackendDescriptor plan) {
        this.library = library;
        this.plan = plan;
        this.scratchBytes = plan.getLong(BackendAttribute.EXECUTION_PLAN_WORKSPACE_SIZE);
    }

    /** The plan for {@code proposal}, which is to live as long; null when cuDNN cannot carry it out. */
    static @Nullable BackendPlan of(BackendLibrary library, CudnnStream stream, BackendDescriptor proposal) {
        BackendDescriptor plan = new BackendDescriptor(library, Kind.PLAN);
        try {
            plan.handle(BackendAttribute.EXECUTION_PLAN_HANDLE, stream.handle)
                    .descriptor(BackendAttribute.EXECUTION_PLAN_ENGINE_CONFIG, proposal)
                    .finish();
            return new BackendPlan(library, plan);
        } catch (LayerEngineException e) {
            plan.close();
            return null;
        }
    }

    long scratchBytes() {
        return scratchBytes;
    }

    /** Computes, or begins to, on the stream of {@code handle}. Addresses are the device's. Returns cuDNN's status. */
    int execute(cudnnContext handle, long x, long w, long y, long scratch) {
        return library.execute(
                handle, plan.pointer(), arguments(x, w, y, scratch).pointer());
    }

    /** Arrays of a planned arena lie where they lay in the step before. */
    private BackendDescriptor arguments(long x, long w, long y, long scratch) {
        for (Arguments known : latest) {
            if (known.x == x && known.w == w && known.y == y && known.scratch == scratch) {
                return known.descriptor;
            }
        }
        if (latest.size() == MOST_ARGUMENTS) {
            latest.remove(0).descriptor.close();
        }
        BackendDescriptor fresh = new BackendDescriptor(library, Kind.ARGUMENTS)
                .longs(BackendAttribute.VARIANT_PACK_UNIQUE_IDS, BackendGraph.X, BackendGraph.W, BackendGraph.Y)
                .places(BackendAttribute.VARIANT_PACK_DATA_POINTERS, x, w, y)
                .places(BackendAttribute.VARIANT_PACK_WORKSPACE, scratch)
                .finish();
        latest.add(new Arguments(x, w, y, scratch, fresh));
        return fresh;
    }

    @Override
    public void close() {
        latest.forEach(known -> known.descriptor.close());
        latest.clear();
        plan.close();
    }
}
