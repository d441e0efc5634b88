// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.memopt.StepCost.Variant;
import io.memopt.analysis.ReferenceNetworks;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Prints {@link StepCost}'s tables. Run by {@code mvn -Pbench}; {@code bench.rounds} (default 15), {@code bench.networks} and
 * {@code bench.variants} (default all) say how much. No assertion on time.
 */
@Tag("bench")
class OverheadBench {
    private static final int ROUNDS = Integer.getInteger("bench.rounds", 15);
    private static final List<Variant> VARIANTS = BenchChoice.of(Variant.class, "bench.variants");
    private static final List<ReferenceNetworks> NETWORKS = BenchChoice.of(ReferenceNetworks.class, "bench.networks");

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "RESNET50")
    void step_plainAgainstRecorded(ReferenceNetworks network) {
        assumeTrue(NETWORKS.contains(network));
        StepCost cost = new StepCost(ROUNDS, VARIANTS);
        assertThat(cost.measure(network.name(), network.create(), network.data(1)))
                .isPositive();
    }
}
