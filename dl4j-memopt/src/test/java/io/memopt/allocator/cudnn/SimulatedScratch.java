// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import io.memopt.allocator.nd4j.Nd4jFacts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/**
 * A library of convolutions with three ways for each pass, of which one needs much scratch memory, one half of that and takes half as long
 * again, and one takes three times as long and needs none, or little for gradients of weights, by a clock of its own. Ways are chosen as an
 * engine of cuDNN chooses them, and scratch memory is real: host memory that is filled with no numbers.
 */
public final class SimulatedScratch implements AutoCloseable {
    /** Of what the first way needs. */
    private static final int[] DIVISORS = {1, 2};

    private static final int[] TIMES = {2, 3, 6};

    private final Scratch scratch;
    private final AlgorithmChooser chooser;
    private final long bytesPerElement;
    private final long leastPerElement;
    private final List<Long> limits = new ArrayList<>();
    private long mostHeldBytes;
    private int way;
    private long now;

    /** What is measured is kept nowhere. */
    private static final class Store implements AlgorithmStore {
        private final Map<String, AlgorithmTable> tables = new HashMap<>();

        @Override
        public Optional<AlgorithmTable> find(String key) {
            return Optional.ofNullable(tables.get(key));
        }

        @Override
        public void put(String key, AlgorithmTable table) {
            tables.put(key, table);
        }
    }

    /** As {@link #SimulatedScratch(ScratchHooks, long, long)}, with a way that needs none for each pass. */
    public SimulatedScratch(ScratchHooks hooks, long bytesPerElement) {
        this(hooks, bytesPerElement, 0);
    }

    /**
     * None of its ways was chosen yet.
     *
     * @param bytesPerElement of scratch memory of the way that needs most, for each element of a convolution's input
     * @param leastPerElement the same of the way that needs least, for gradients of weights
     */
    public SimulatedScratch(ScratchHooks hooks, long bytesPerElement, long leastPerElement) {
        CudnnOptions options = new CudnnOptions(true, false, false, 1L << 30, 0, true, 1);
        this.scratch = new Scratch(new HostSource(hooks));
        this.chooser = new AlgorithmChooser(options, new Store(), Nd4jFacts.backend(), () -> now);
        this.bytesPerElement = bytesPerElement;
        this.leastPerElement = leastPerElement;
    }

    /** Takes the scratch memory that a pass needs; the way it went, 0 to 2, or -1 when there is none. */
    public int run(ConvolutionShape shape, ConvolutionPass pass) {
        Calls calls = new Calls(shape, pass);
        if (!chooser.knows(calls)) {
            scratch.beginTrials();
            try {
                chooser.choose(calls);
            } finally {
                scratch.endTrials();
            }
        }
        return chooser.run(calls) ? way : -1;
    }

    public Optional<AlgorithmTable> table(ConvolutionShape shape, ConvolutionPass pass) {
        return chooser.table(shape, pass);
    }

    public Optional<ConvolutionAlgorithm> chosen(ConvolutionShape shape, ConvolutionPass pass) {
        return chooser.chosen(shape, pass);
    }

    public Optional<ConvolutionAlgorithm> chosenWithin(ConvolutionShape shape, ConvolutionPass pass, long bytes) {
        return chooser.chosenWithin(shape, pass, bytes);
    }

    public void limit(long bytes, long aloneBytes) {
        limits.add(bytes);
        mostHeldBytes = 0;
        chooser.limit(bytes, aloneBytes);
        scratch.limit(aloneBytes);
    }

    public String description() {
        return "simulated, " + bytesPerElement + " and " + leastPerElement + " bytes per element";
    }

    /** All limits so far. */
    public List<Long> limits() {
        return limits;
    }

    /** Most bytes of the block at once, trials included, since the latest limit. */
    public long mostHeldBytes() {
        return mostHeldBytes;
    }

    public long heldBytes() {
        return scratch.bytes();
    }

    @Override
    public void close() {
        scratch.close();
    }

    private final class Calls implements ConvolutionCalls {
        private final ConvolutionShape shape;
        private final ConvolutionPass pass;

        private Calls(ConvolutionShape shape, ConvolutionPass pass) {
            this.shape = shape;
            this.pass = pass;
        }

        @Override
        public ConvolutionShape shape() {
            return shape;
        }

        @Override
        public ConvolutionPass pass() {
            return pass;
        }

        @Override
        public boolean isGraph() {
            return false;
        }

        @Override
        public List<Integer> candidates(ConvolutionMath math) {
            return IntStream.range(0, TIMES.length).boxed().toList();
        }

        @Override
        public boolean repeats(int algorithm) {
            return true;
        }

        @Override
        public List<Integer> ranking() {
            return candidates(ConvolutionMath.FMA);
        }

        @Override
        public long scratchBytes(int algorithm, ConvolutionMath math, int items) {
            long elements = items * shape.inputItem();
            if (algorithm < DIVISORS.length) {
                return elements * bytesPerElement / DIVISORS[algorithm];
            }
            return pass == ConvolutionPass.BACKWARD_FILTER ? elements * leastPerElement : 0;
        }

        @Override
        public boolean run(ConvolutionAlgorithm algorithm) {
            now += (long) TIMES[algorithm.id()] * shape.batch() * shape.inputItem();
            long place = scratch.place(algorithm.scratchBytes());
            mostHeldBytes = Math.max(mostHeldBytes, scratch.bytes());
            if (place == Scratch.NONE) {
                return false;
            }
            if (place != 0) {
                Pointer.memset(new DevicePlace(place), -1, algorithm.scratchBytes());
            }
            way = algorithm.id();
            return true;
        }

        @Override
        public boolean hasRoom(long bytes) {
            return scratch.hasRoom(bytes);
        }

        @Override
        public void await() {}
    }

    private record HostSource(ScratchHooks hooks) implements Scratch.Source {
        @Override
        public @Nullable Pointer allocate(long bytes) {
            Pointer block = ops().mallocHost(bytes, 0);
            if (block != null && !block.isNull()) {
                hooks.allocated(block.address());
            }
            return block;
        }

        @Override
        public void free(Pointer block) {
            ops().freeHost(block);
        }

        @Override
        public void await() {}

        @Override
        public long spare(long bytes) {
            return hooks.spare(bytes);
        }

        private static NativeOps ops() {
            return NativeOpsHolder.getInstance().getDeviceNativeOps();
        }
    }
}
