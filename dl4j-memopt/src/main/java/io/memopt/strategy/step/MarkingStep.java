// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import java.util.Objects;
import org.deeplearning4j.optimize.api.StepFunction;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Changes parameters as another does, and tells when that is done. */
final class MarkingStep implements StepFunction {
    private static final long serialVersionUID = 1;

    private final StepFunction step;
    private final transient Runnable done;

    MarkingStep(StepFunction step, Runnable done) {
        this.step = step;
        this.done = Objects.requireNonNull(done, "done");
    }

    @Override
    public void step(INDArray x, INDArray line, double size) {
        step.step(x, line, size);
        done.run();
    }

    @Override
    public void step(INDArray x, INDArray line) {
        step.step(x, line);
        done.run();
    }

    @Override
    public void step() {
        step.step();
        done.run();
    }
}
