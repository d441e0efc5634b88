// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/** A library whose algorithms take known scratch memory and time; time passes only when something is run. */
final class FakeCalls implements ConvolutionCalls {
    private final ConvolutionPass pass;
    private final long[] bytesPerItem;
    private final long[] nanosPerRun;
    final List<ConvolutionAlgorithm> ran = new ArrayList<>();
    final Set<Integer> broken = new HashSet<>();
    boolean graph;
    long room = Long.MAX_VALUE;
    /** Done beside each run. */
    Runnable beside = () -> {};
    /** What the first run of each algorithm takes longer. */
    long loadingNanos;

    long now;

    /** One number for each algorithm; scratch memory of -1 means that the algorithm is not supported. */
    FakeCalls(ConvolutionPass pass, long[] bytesPerItem, long[] nanosPerRun) {
        this.pass = pass;
        this.bytesPerItem = bytesPerItem;
        this.nanosPerRun = nanosPerRun;
    }

    @Override
    public ConvolutionShape shape() {
        return Ways.SHAPE;
    }

    @Override
    public ConvolutionPass pass() {
        return pass;
    }

    @Override
    public boolean isGraph() {
        return graph;
    }

    @Override
    public List<Integer> candidates(ConvolutionMath math) {
        return IntStream.range(0, pass.algorithms()).boxed().toList();
    }

    @Override
    public boolean repeats(int algorithm) {
        return pass.repeats(algorithm);
    }

    @Override
    public List<Integer> ranking() {
        List<Integer> order = new ArrayList<>();
        for (int id = bytesPerItem.length - 1; id >= 0; id--) {
            order.add(id);
        }
        return order;
    }

    @Override
    public long scratchBytes(int algorithm, ConvolutionMath math, int items) {
        return algorithm >= bytesPerItem.length || bytesPerItem[algorithm] < 0 ? -1 : bytesPerItem[algorithm] * items;
    }

    @Override
    public boolean run(ConvolutionAlgorithm algorithm) {
        now += ran.stream().noneMatch(way -> way.id() == algorithm.id()) ? loadingNanos : 0;
        ran.add(algorithm);
        beside.run();
        now += nanosPerRun[algorithm.id()] / (algorithm.math() == ConvolutionMath.TF32 ? 2 : 1) + algorithm.parts() - 1;
        return !broken.contains(algorithm.id());
    }

    @Override
    public boolean hasRoom(long bytes) {
        return bytes <= room;
    }

    @Override
    public void await() {}
}
