// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.reuse.ArenaPlan;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;

/**
 * What one thread has proved for a network, for other threads that train it or a copy of it: {@code ParallelWrapper} begins
 * each round with new threads and new copies. Networks are held weakly; of each the {@link LatestPasses}.
 *
 * <p>Threading: safe.
 */
final class ProvedPlans {
    private final List<Network> networks = new ArrayList<>();

    private static final class Network {
        private final WeakReference<Model> model;
        private final LatestPasses<ArenaPlan> plans = new LatestPasses<>(ArenaPlan::size);

        private Network(Model model) {
            this.model = new WeakReference<>(model);
        }
    }

    /** {@code plan} gives the bits that {@code original} and its copies give without it. */
    synchronized void add(Model original, RegionKey key, ArenaPlan plan) {
        Network known = find(original);
        if (known == null) {
            networks.removeIf(network -> network.model.refersTo(null));
            known = new Network(original);
            networks.add(known);
        }
        known.plans.put(key, plan);
    }

    /** What was proved for {@code original} and its copies. */
    synchronized Map<RegionKey, ArenaPlan> of(Model original) {
        Network known = find(original);
        return known == null ? Map.of() : known.plans.copy();
    }

    private @Nullable Network find(Model original) {
        for (Network network : networks) {
            if (network.model.refersTo(original)) {
                return network;
            }
        }
        return null;
    }
}
