// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.testing.Networks;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.Test;

class NetworkPlansTest {
    private static final ArenaPlan PLAN = ArenaPlan.of(List.of(), PlanOptions.greedy());

    private final NetworkPlans.Plans plans =
            new NetworkPlans(model -> Map.of(), false).of(Networks.LENET.create(WorkspaceMode.ENABLED));

    private static RegionKey key(String shapes, int batch) {
        return new RegionKey(RegionKey.PASS, batch, shapes, "WS", 8L * batch, false);
    }

    private static RegionKey awaited(String shapes, int batch) {
        return new RegionKey(RegionKey.PASS, batch, shapes, "", 0, false);
    }

    @Test
    void minibatch_isKnownByItsOwnPlan_orTwoOfOtherBatches() {
        plans.remember(Map.of(key("[3, 16, 16]", 1), PLAN, key("[3, 16, 16]", 2), PLAN));
        assertThat(plans.tell(awaited("[3, 16, 16]", 2))).isTrue();
        assertThat(plans.tell(awaited("[3, 16, 16]", 8))).isFalse();

        plans.remember(Map.of(key("[3, 16, 16]", 3), PLAN));
        assertThat(plans.tell(awaited("[3, 16, 16]", 8))).isTrue();
        assertThat(plans.tell(awaited("[3, 8, 8]", 8))).isFalse();
    }

    @Test
    void minibatch_isForgottenWithItsPlans() {
        plans.remember(Map.of(key("[3, 16, 16]", 2), PLAN, key("[3, 16, 16]", 3), PLAN));
        for (int i = 0; i < LatestPasses.MAX_ARRAYS / LatestPasses.PASS_ARRAYS; i++) {
            plans.remember(Map.of(key("[" + i + "]", 2), PLAN));
        }
        assertThat(plans.tell(awaited("[3, 16, 16]", 8))).isFalse();
    }
}
