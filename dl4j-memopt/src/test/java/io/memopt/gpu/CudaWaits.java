// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.strategy.DeviceMemory;
import io.memopt.strategy.HostMirrors;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.cudnn.Convolutions;
import io.memopt.testing.Networks;
import java.util.Arrays;
import java.util.Locale;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Steps that wait for the device once a pass against steps that wait whenever a workspace is left, with planned workspaces, pool,
 * untouched mirrors and cuDNN, in blocks that take turns within one training; a program, because the tests' class path has no CUDA.
 *
 * <p>Arguments: {@code NETWORK,batch,steps,rounds} each, steps in a block.
 */
public final class CudaWaits {
    private static final int REHEARSED = 4;
    private static final int SETTLING = 3;

    private final Model model;
    private final DataSet[] data;
    private final int steps;
    private int next;

    private CudaWaits(CudnnCase kind, int batch, int steps) {
        this.model = kind.create();
        this.data = new DataSet[] {kind.data(batch, 0), kind.data(batch, 1)};
        this.steps = steps;
    }

    public static void main(String[] arguments) {
        for (String argument : arguments) {
            String[] parts = argument.split(",", -1);
            CudnnCase kind = CudnnCase.valueOf(parts[0]);
            CudaWaits program = new CudaWaits(kind, Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
            System.out.println(argument + ": " + program.compare(kind, Integer.parseInt(parts[3])));
        }
        System.exit(0);
    }

    private String compare(CudnnCase kind, int rounds) {
        MemOptConfig config = MemOptConfig.builder()
                .reuse(Reuse.PLANNED)
                .deviceMemory(DeviceMemory.POOL)
                .hostMirrors(HostMirrors.UNTOUCHED)
                .convolutions(Convolutions.CUDNN)
                .ownViews(true)
                .build();
        double[] each = new double[rounds];
        double[] ratios = new double[rounds];
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            memopt.rehearse(kind.data(REHEARSED, 9));
            for (int i = 0; i < SETTLING; i++) {
                block();
            }
            for (int round = 0; round < rounds; round++) {
                boolean first = round % 2 == 0;
                memopt.waitForScopes(first);
                double one = block();
                memopt.waitForScopes(!first);
                double other = block();
                each[round] = first ? one : other;
                ratios[round] = first ? other / one : one / other;
            }
        }
        Arrays.sort(each);
        Arrays.sort(ratios);
        return String.format(
                Locale.ROOT,
                "a wait for each workspace %.3f ms; one a pass takes %.3f times as long (quartiles %.3f, %.3f; %d rounds)",
                each[rounds / 2],
                ratios[rounds / 2],
                ratios[rounds / 4],
                ratios[rounds * 3 / 4],
                rounds);
    }

    /** Median step in ms. */
    private double block() {
        double[] millis = new double[steps];
        for (int i = -SETTLING; i < steps; i++) {
            long start = System.nanoTime();
            Networks.fit(model, data[next++ % data.length]);
            Nd4j.getExecutioner().commit();
            if (i >= 0) {
                millis[i] = (System.nanoTime() - start) / 1e6;
            }
        }
        Arrays.sort(millis);
        return millis[steps / 2];
    }
}
