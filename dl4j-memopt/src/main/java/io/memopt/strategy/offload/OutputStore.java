// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.nd4j.PinnedBlock;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Where outputs of layers lie that later segments of a checkpointed pass need, other than in a workspace. A pass has stages, one for
 * each segment forward and then for each but the last backward:
 *
 * <pre>
 *   segments  0 1 2 3      stages  0 1 2 3 4 5 6
 *   forward   0 1 2 3               backward 2 1 0
 * </pre>
 *
 * <p>Threading: confined to the training thread.
 */
public interface OutputStore extends AutoCloseable {
    /**
     * A store in {@code where}.
     *
     * @throws IllegalStateException if there is no device that things could be brought from
     */
    static OutputStore in(Offload where) {
        return where.folder()
                .<OutputStore>map(OutputFiles::new)
                .orElseGet(() -> new OutputsOnHost(DeviceCopies.lanes(), PinnedBlock::of));
    }

    /**
     * A pass begins.
     *
     * @param uses positions whose outputs are used in each stage
     * @param room makes arrays that live as long as the pass
     */
    void begin(List<Set<Integer>> uses, Room room);

    /** The next stage begins; its outputs are where operations can use them. */
    void stage(int stage);

    /** Keeps {@code output} of the layer at {@code position}; false when it is not one that can be kept here. */
    boolean keep(int position, INDArray output);

    /** What was kept of {@code position}, which the present stage uses or has kept; valid until the stage ends. Null if nothing was. */
    @Nullable
    INDArray get(int position);

    /** The pass is over, or has failed. */
    void end();

    /** Other outputs are kept from now on. */
    void clear();

    /** What lies where, to complete a sentence: {@code 12.00 MiB (12582912 B) of it are in mapped files}. */
    String note();

    /** Gives the memory back; no pass is being computed. */
    @Override
    void close();
}
