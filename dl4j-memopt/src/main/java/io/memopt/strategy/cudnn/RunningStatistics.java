// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.cudnn;

import io.memopt.allocator.cudnn.NormalizationEngine;
import io.memopt.allocator.cudnn.NormalizationEngine.Statistics;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * The running mean and deviation of several batch normalisations, brought up to date together. Deeplearning4j does it with some
 * twenty operations for each layer, on as many numbers as the layer has channels; each operation costs the host far more than the
 * device. Here the numbers of all layers lie one after another, and each operation is made once:
 *
 * <pre>
 *   channels of  | layer 1 | layer 2   | layer 3 | ...
 *   mean         |---------|-----------|---------|      written by the forward passes
 *   running mean |&lt;- copied from the parameters            copied to the gradients -&gt;|
 * </pre>
 *
 * <p>Each number goes through the same operations in the same order as before, so the results have the same bits.
 *
 * <p>What is computed belongs to the end of the backward pass: that of the member which is first in the network. A pass in which a
 * member was not computed forward goes Deeplearning4j's way. Memory: {@value #ARRAYS} arrays of one float for each channel of all members.
 * Threading: as the network, one thread at a time.
 */
final class RunningStatistics {
    static final int ARRAYS = 8;

    private final NormalizationEngine engine;
    private final double decay;
    private final double epsilon;
    private final List<Member> members = new ArrayList<>();
    private final List<Update> updates = new ArrayList<>();
    private int channels;
    private @Nullable Arrays arrays;

    /** Where the numbers of all members lie, and what computes them. */
    private record Arrays(
            INDArray mean, INDArray inverse, INDArray runningMean, INDArray logDeviation, UpdateOps ops) {}

    /** What one backward pass leaves to be done for a member. */
    private record Update(
            Member member, INDArray runningMean, INDArray logDeviation, INDArray meanUpdate, INDArray logUpdate) {}

    /**
     * For layers that agree in {@code decay}, 0 to 1, and {@code epsilon}.
     *
     * @param engine computes them, and copies numbers between them and here
     */
    RunningStatistics(NormalizationEngine engine, double decay, double epsilon) {
        this.engine = engine;
        this.decay = decay;
        this.epsilon = epsilon;
    }

    /** Adds a layer, in the order of the network, before any pass. */
    Member join(int layerChannels) {
        Member member = new Member(channels, channels + layerChannels, members.isEmpty());
        members.add(member);
        channels += layerChannels;
        return member;
    }

    private Arrays arrays() {
        Arrays known = arrays;
        if (known == null) {
            try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                INDArray mean = Nd4j.zeros(DataType.FLOAT, channels);
                INDArray inverse = Nd4j.zeros(DataType.FLOAT, channels);
                INDArray runningMean = Nd4j.zeros(DataType.FLOAT, channels);
                INDArray logDeviation = Nd4j.zeros(DataType.FLOAT, channels);
                UpdateOps ops = new UpdateOps(mean, inverse, runningMean, logDeviation, decay, epsilon);
                known = new Arrays(mean, inverse, runningMean, logDeviation, ops);
            }
            arrays = known;
        }
        return known;
    }

    private boolean allForward() {
        return members.stream().allMatch(member -> member.forward);
    }

    private void finish() {
        if (!updates.isEmpty()) {
            Arrays all = arrays();
            for (Update update : updates) {
                engine.copy(update.runningMean(), update.member().part(all.runningMean()));
                engine.copy(update.logDeviation(), update.member().part(all.logDeviation()));
            }
            all.ops().run();
            for (Update update : updates) {
                engine.copy(update.member().part(all.ops().meanUpdate()), update.meanUpdate());
                engine.copy(update.member().part(all.ops().logUpdate()), update.logUpdate());
            }
        }
        updates.clear();
        members.forEach(member -> member.forward = false);
    }

    /** One layer's part. */
    final class Member {
        private final int begin;
        private final int end;
        private final boolean first;
        private boolean forward;

        private Member(int begin, int end, boolean first) {
            this.begin = begin;
            this.end = end;
            this.first = first;
        }

        /** Where forward passes in training leave the layer's statistics. */
        Statistics statistics(long[] shape) {
            try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                return new Statistics(
                        part(arrays().mean()).reshape(shape),
                        part(arrays().inverse()).reshape(shape));
            }
        }

        private INDArray part(INDArray all) {
            return all.get(NDArrayIndex.interval(begin, end));
        }

        /** The statistics of a minibatch are there; what an unfinished pass left to be done is forgotten. */
        void forwarded() {
            updates.removeIf(update -> update.member() == this);
            forward = true;
        }

        /** True when the layer's update may be left to the end of this pass: all members will have their statistics by then. */
        boolean mayLeave() {
            return allForward();
        }

        /** Leaves the update to the end of this pass; arrays are those of parameters and gradients, dense. */
        void leave(INDArray runningMean, INDArray logDeviation, INDArray meanUpdate, INDArray logUpdate) {
            updates.add(new Update(this, runningMean, logDeviation, meanUpdate, logUpdate));
        }

        /** The layer's backward pass is over, however it was computed. */
        void backwarded() {
            if (first) {
                finish();
            }
        }
    }
}
