// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;

/**
 * What passes of all networks need. Networks of the same configuration share one entry, on whatever thread they run, so that the
 * second of a pool's threads knows what the first has learnt. Bounded: {@value PlanProfile#MAX_NETWORKS} configurations, the
 * oldest give way; networks are held weakly. Threading: safe.
 */
final class SizeBook {
    private final int patience;
    private final PassSizes unobserved;
    private final List<Known> known = new ArrayList<>();
    private final Map<String, PassSizes> byIdentity = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, PassSizes> eldest) {
            return size() > PlanProfile.MAX_NETWORKS;
        }
    };

    private record Known(WeakReference<Model> model, PassSizes sizes) {}

    /**
     * Nothing known.
     *
     * @param patience see {@link PassSizes#PassSizes}
     */
    SizeBook(int patience) {
        this.patience = patience;
        this.unobserved = new PassSizes(patience);
    }

    /** Those of {@code model}; null stands for networks that nobody observes, all together. */
    synchronized PassSizes of(@Nullable Model model) {
        if (model == null) {
            return unobserved;
        }
        for (Known one : known) {
            if (one.model.refersTo(model)) {
                return one.sizes;
            }
        }
        known.removeIf(one -> one.model.refersTo(null));
        PassSizes sizes = of(NetworkIdentity.of(model));
        known.add(new Known(new WeakReference<>(model), sizes));
        return sizes;
    }

    /** Those of the configuration with that {@link NetworkIdentity}. */
    synchronized PassSizes of(String identity) {
        return byIdentity.computeIfAbsent(identity, fresh -> new PassSizes(patience));
    }

    /** Hands each configuration and what its passes needed lately to {@code action}. */
    synchronized void forEach(BiConsumer<String, Map<RegionKey, Long>> action) {
        byIdentity.forEach((identity, sizes) -> action.accept(identity, sizes.recent()));
    }
}
