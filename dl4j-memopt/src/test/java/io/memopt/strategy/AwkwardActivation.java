// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.FloatPointer;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.BaseActivationFunction;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Activation functions that do what no plan can foresee. Each is the identity but for that. */
@SuppressWarnings("serial")
abstract class AwkwardActivation extends BaseActivationFunction {

    @Override
    public INDArray getActivation(INDArray in, boolean training) {
        return in;
    }

    @Override
    public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
        return new Pair<>(epsilon, null);
    }

    /** Remembers where activations lie and reads them in the backward pass, without asking anyone. */
    static final class RawReader extends AwkwardActivation {
        private final transient List<RawFloats> seen = new ArrayList<>();

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            INDArray doubled = in.muli(2);
            if (training) {
                seen.add(new RawFloats(doubled.data().address(), doubled.length()));
            }
            return doubled;
        }

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            double sum = seen.stream().mapToDouble(RawFloats::sum).sum();
            return new Pair<>(epsilon.muli(2 + 1e-3 * sum), null);
        }

        /** To be called when an iteration is over, as what was seen is gone. */
        void forget() {
            seen.clear();
        }
    }

    private static final class RawFloats extends FloatPointer {
        private final long count;

        RawFloats(long from, long count) {
            super((org.bytedeco.javacpp.Pointer) null);
            this.address = from;
            this.count = count;
        }

        double sum() {
            double sum = 0;
            for (long i = 0; i < count; i++) {
                sum += get(i);
            }
            return sum;
        }
    }

    /** Scales by the number of its calls. */
    static final class Counter extends AwkwardActivation {
        private int calls;

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            return in.muli(1 + 0.01 * ++calls);
        }
    }

    /** The same with a count that no field holds. */
    static final class StaticCounter extends AwkwardActivation {
        private static int calls;

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            return in.muli(1 + 0.01 * ++calls);
        }
    }

    /** Needs an array whose size is never the same. */
    static final class Unsteady extends AwkwardActivation {
        private transient int rows;

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            INDArray other = in.ulike().assign(0);
            for (int i = 0; i < rows % 7; i++) {
                other.addi(in.dup());
            }
            return in;
        }

        /** The next iteration begins. */
        void next() {
            rows++;
        }
    }

    /** Fails while a minibatch is computed for the second time. */
    static final class FailingTwin extends AwkwardActivation {
        private final transient Error error;

        FailingTwin(Error error) {
            this.error = error;
        }

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            boolean twin = StackWalker.getInstance()
                    .walk(frames ->
                            frames.anyMatch(frame -> frame.getClassName().equals(TwinPass.class.getName())));
            if (twin) {
                throw error;
            }
            return in;
        }
    }
}
