// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;

/** The plans of each network on one thread. Networks are held weakly; of each the {@value #MAX_REGIONS} latest plans. */
final class NetworkPlans {
    static final int MAX_REGIONS = 64;

    private final List<Plans> all = new ArrayList<>();

    /** Plans of one network. */
    static final class Plans {
        private final WeakReference<Model> model;
        private final Map<RegionKey, PlannedRegion> regions = new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<RegionKey, PlannedRegion> eldest) {
                return size() > MAX_REGIONS;
            }
        };

        private Plans(Model model) {
            this.model = new WeakReference<>(model);
        }

        synchronized PlannedRegion region(RegionKey key) {
            return regions.computeIfAbsent(key, PlannedRegion::new);
        }

        synchronized Collection<PlannedRegion> regions() {
            return List.copyOf(regions.values());
        }
    }

    synchronized Plans of(Model model) {
        for (Iterator<Plans> each = all.iterator(); each.hasNext(); ) {
            Plans plans = each.next();
            if (plans.model.refersTo(model)) {
                return plans;
            }
            if (plans.model.refersTo(null)) {
                each.remove();
            }
        }
        Plans fresh = new Plans(model);
        all.add(fresh);
        return fresh;
    }

    /** All plans, of all networks that still exist. */
    synchronized List<PlannedRegion> regions() {
        List<PlannedRegion> regions = new ArrayList<>();
        all.forEach(plans -> regions.addAll(plans.regions()));
        return regions;
    }
}
