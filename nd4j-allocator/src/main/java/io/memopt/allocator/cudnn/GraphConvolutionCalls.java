// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.bytedeco.javacpp.Pointer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A pass by cuDNN's graphs. Algorithms are numbered as in
 * {@link BackendGraph#candidates} for the whole minibatch; parts are computed by the same engine, as cuDNN proposes it for them. Gradients of
 * weights in parts are added to zeros.
 */
final class GraphConvolutionCalls extends StreamCalls {
    private static final Logger log = LoggerFactory.getLogger(GraphConvolutionCalls.class);
    private static final long ALIGNED = BackendGraph.ALIGNMENT / Float.BYTES;

    private final BackendPlans plans;

    GraphConvolutionCalls(
            CudnnStream stream,
            BackendPlans plans,
            ConvolutionShape shape,
            ConvolutionPass pass,
            Pointer x,
            Pointer w,
            Pointer y) {
        super(stream, shape, pass, x, w, y);
        this.plans = plans;
    }

    /** Whether arrays lie where graphs want them. */
    static boolean suit(Pointer x, Pointer y) {
        return (x.address() | y.address()) % BackendGraph.ALIGNMENT == 0;
    }

    @Override
    public boolean isGraph() {
        return true;
    }

    @Override
    public List<Integer> candidates(ConvolutionMath math) {
        return plans.candidates(work(1), math);
    }

    @Override
    public List<Integer> ranking() {
        Set<Integer> all = new LinkedHashSet<>(candidates(ConvolutionMath.FMA));
        all.addAll(candidates(ConvolutionMath.TF32));
        return all.stream().sorted().toList();
    }

    /** Proposals that do not repeat are left out where that is asked for. */
    @Override
    public boolean repeats(int algorithm) {
        return true;
    }

    @Override
    public long scratchBytes(int algorithm, ConvolutionMath math, int items) {
        int parts = shape.batch() / items;
        if (parts > 1 && (items * shape.inputItem() % ALIGNED != 0 || items * shape.outputItem() % ALIGNED != 0)) {
            return -1;
        }
        BackendPlan plan = plans.plan(work(1), work(parts), math, algorithm);
        return plan == null ? -1 : plan.scratchBytes();
    }

    private BackendPlans.Work work(int parts) {
        return new BackendPlans.Work(
                parts == 1 ? shape : shape.withBatch(shape.batch() / parts),
                pass,
                parts > 1 && pass == ConvolutionPass.BACKWARD_FILTER);
    }

    @Override
    public boolean run(ConvolutionAlgorithm algorithm) {
        BackendPlans.Work work = work(algorithm.parts());
        BackendPlan plan = plans.plan(work(1), work, algorithm.math(), algorithm.id());
        if (plan == null || plan.scratchBytes() > algorithm.scratchBytes()) {
            log.debug("{} of {} has no plan for {}", pass, shape, algorithm);
            return false;
        }
        long scratch = stream.scratch.place(plan.scratchBytes());
        if (scratch == Scratch.NONE) {
            log.debug("no memory for scratch of {} for {}", algorithm, shape);
            return false;
        }
        if (work.adds()) {
            stream.zero(w, shape.weights() * Float.BYTES);
        }
        for (int part = 0; part < algorithm.parts(); part++) {
            int status = launch(plan, (long) part * work.shape().batch(), scratch);
            if (status != 0) {
                log.debug("{} refused {} for {}: {}", pass, algorithm, shape, CudnnStream.name(status));
                return false;
            }
        }
        return true;
    }

    private int launch(BackendPlan plan, long firstItem, long scratch) {
        return plan.execute(
                stream.handle,
                x.address() + firstItem * shape.inputItem() * Float.BYTES,
                w.address(),
                y.address() + firstItem * shape.outputItem() * Float.BYTES,
                scratch);
    }
}
