// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Observation, recorded uses and scope check change no bit of training: parameters, updater state and every score. */
class BitwiseTest {
    private static final int ITERATIONS = 30;

    static List<Arguments> everyFamilyAndMode() {
        List<Arguments> cases = new ArrayList<>();
        for (Networks family : Networks.values()) {
            cases.add(Arguments.of(family, WorkspaceMode.ENABLED));
            cases.add(Arguments.of(family, WorkspaceMode.NONE));
        }
        return cases;
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @MethodSource("everyFamilyAndMode")
    void training_observedOrChecked_equalsPlainBitForBit(Networks family, WorkspaceMode mode) {
        MemoryHooks.uninstall();
        Outcome plain = train(family, mode, null);

        Outcome observed = train(family, mode, MemOptConfig.defaults());
        Outcome checked =
                train(family, mode, MemOptConfig.builder().scopeCheck(true).build());

        for (Outcome each : List.of(observed, checked)) {
            assertThat(each.scores).containsExactly(plain.scores);
            assertThat(each.parameters).containsExactly(plain.parameters);
            assertThat(each.updaterState).containsExactly(plain.updaterState);
        }
        assertThat(plain.parameters).isNotEqualTo(bits(family.create(mode).params()));
    }

    private static Outcome train(Networks family, WorkspaceMode mode, @Nullable MemOptConfig config) {
        Nd4j.getRandom().setSeed(7);
        Model model = family.create(mode);
        MemOpt memopt = config == null ? null : MemOpt.attach(model, config);
        double[] scores = new double[ITERATIONS];
        for (int i = 0; i < ITERATIONS; i++) {
            Networks.fit(model, family.data(4, i));
            scores[i] = model.score();
        }
        Outcome outcome = new Outcome(scores, bits(model.params()), bits(updaterState(model)));
        if (memopt != null) {
            assertThat(memopt.summary().events()).isGreaterThan(ITERATIONS);
            assertThat(memopt.scopeFindings()).isEmpty();
            memopt.close();
        }
        return outcome;
    }

    private static INDArray updaterState(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getUpdater().getStateViewArray()
                : ((ComputationGraph) model).getUpdater().getStateViewArray();
    }

    private static int[] bits(INDArray array) {
        float[] values = array.dup().data().asFloat();
        int[] bits = new int[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Float.floatToRawIntBits(values[i]);
        }
        return bits;
    }

    private static final class Outcome {
        final double[] scores;
        final int[] parameters;
        final int[] updaterState;

        Outcome(double[] scores, int[] parameters, int[] updaterState) {
            this.scores = scores;
            this.parameters = parameters;
            this.updaterState = updaterState;
        }
    }
}
