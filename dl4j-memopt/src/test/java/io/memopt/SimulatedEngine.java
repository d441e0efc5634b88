// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.cudnn.SimulatedScratch;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.strategy.cudnn.CudnnLayers;
import io.memopt.strategy.cudnn.SimulatedConvolutions;
import java.lang.reflect.Field;
import org.deeplearning4j.nn.api.Model;

/** Puts helpers of a simulated library where {@code convolutions(CUDNN)} would put those of cuDNN. */
public final class SimulatedEngine {
    private SimulatedEngine() {}

    /**
     * To be called right after {@code model} was attached.
     *
     * @param bytesPerElement of scratch memory that the fastest way wants for each element of a convolution's input
     * @param leastPerElement of scratch memory that gradients of weights cannot do without, likewise
     */
    public static SimulatedScratch use(MemOpt memopt, Model model, long bytesPerElement, long leastPerElement) {
        SimulatedScratch scratch = new SimulatedScratch(
                new HelperScratch(MemoryHooks.recording().ledger()), bytesPerElement, leastPerElement);
        use(memopt, model, SimulatedConvolutions.layers(scratch));
        return scratch;
    }

    /** As {@link #use(MemOpt, Model, long, long)}, with what {@code layers} put into it. */
    public static void use(MemOpt memopt, Model model, CudnnLayers layers) {
        layers.attach(model);
        try {
            Field session = MemOpt.class.getDeclaredField("session");
            Field cudnn = Session.class.getDeclaredField("cudnn");
            session.setAccessible(true);
            cudnn.setAccessible(true);
            cudnn.set(session.get(memopt), layers);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("no session to put it into", e);
        }
    }
}
